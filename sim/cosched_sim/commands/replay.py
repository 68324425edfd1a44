"""`cosched replay`: replays job logs of coupled clusters through cosched's own scheduling code."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cosched.cli.output.failures import FAILED, Failure
from cosched.cli.output.terminal import BEGAN, COMMAND, Progress, progress, say, show, show_json
from cosched.installation.extras import SIMULATOR, need
from cosched.words.errors import InputError
from cosched_sim.commands.options import DOMAIN_HELP, DomainCommand, replay_options
from cosched_sim.flags import check_files, replay_settings

if TYPE_CHECKING:
    from cosched_sim.configuration import ReplayConfig
    from cosched_sim.replaying import Replay
    from cosched_sim.results.output import RunInfo

TERMINATED = 128 + signal.SIGTERM  # exit code

EPILOG = f"""{DOMAIN_HELP}

\b
Lines of a --script FILE (times: 90, 90m, 12h, 3d; # begins a comment):
  TIME cancel DOMAIN JOB_ID [final]   final: nobody takes its place
  TIME fail   DOMAIN JOB_ID           a running job fails
  TIME requeue DOMAIN JOB_ID          a running job is queued again
  TIME unlink DOMAIN JOB_ID           it starts with nobody any more
  TIME replace DOMAIN JOB_ID NEW      it is cancelled, NEW has its place
  TIME down   DOMAIN NODES            running jobs on them fail
  TIME drain  DOMAIN NODES            they leave as they become free
  TIME up     DOMAIN NODES            they come back
  TIME scheme DOMAIN hold|yield|off
  TIME cut    DOMAIN DOMAIN DURATION  the link between the two is down

\b
Example:
  cosched replay --domain intrepid,trace=intrepid.swf.gz,procs_per_node=4 \\
                 --domain eureka,trace=eureka.swf.gz,scheme=yield \\
                 --pair-window 2m --out run1"""


@click.command(cls=DomainCommand, short_help="Replay job logs of coupled clusters.", epilog=EPILOG)
@replay_options(pairs_file=True)
@click.option("--script", metavar="FILE", help="What-if events, one per line: see below.")
@click.option("--live", is_flag=True, help="Replay through real services: a process per domain, gRPC.")
@click.option("--dask", metavar="ADDRESS", help="Domains that share no jobs are replayed there, tcp://HOST:PORT.")
@click.option("--compare", is_flag=True, help="Replay without coscheduling and under all schemes.")
@click.option("--out", metavar="DIR", help="Write a report and its data there (--compare: a folder each).")
@click.option("--events", is_flag=True, help="Write events.jsonl there too.")
@click.option("--no-report", is_flag=True, help="Write no report.html and no figures there.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.pass_context
def replay(
    ctx: click.Context,
    /,
    domains: tuple[str, ...],
    config: str | None,
    live: bool,
    dask: str | None,
    compare: bool,
    out: str | None,
    no_report: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Replay job logs of coupled clusters on a virtual clock.

    Each domain schedules its own jobs; the two jobs of a pair start at the same instant. Prints a table for
    each domain. Times are in trace seconds; durations are 90, 20m, 12h or 3d. File names in a --config file
    are relative to it.
    """
    if options["events"] and out is None:
        raise InputError("--events", None, "writes events.jsonl, and so needs --out DIR")
    if live and dask is not None:
        raise InputError("--dask", None, "replays in no services: give either --dask or --live")
    if out is not None or compare:
        need(SIMULATOR)
    with progress("reading ...") as doing:
        settings = replay_settings(domains, config, **options)
        _check(settings, compare)
        from cosched_sim.results.staging import staged

        ready = _replay(live, dask)(settings, doing.say, doing.go_on, compares=compare)
        info = run_info(ctx, settings.seed)
        with _deaths_told(live), staged(out) if out is not None else nullcontext() as stage:
            said = (run_all if compare else _run)(ready, info, stage, doing)
        if out is not None and not no_report:
            draw_report(Path(out), doing)
    _tell(said, as_json)


def _check(settings: ReplayConfig, compare: bool) -> None:
    """Report mistakes early, before the simulator is imported, which takes seconds."""
    from cosched_sim.combinations import compared

    if compare:
        compared(settings)
    check_files(settings)


def _replay(live: bool, dask: str | None) -> Callable[..., Replay]:
    if dask is not None:
        from cosched_sim.dask_replaying import DaskReplay

        return partial(DaskReplay, address=dask)
    if live:
        from cosched_sim.live.replaying import LiveReplay  # imports gRPC, which others do without

        return LiveReplay
    from cosched_sim.replaying import Replay

    return Replay


@contextmanager
def _deaths_told(live: bool) -> Iterator[None]:
    """End the command with the last message of a service that dies, and end all services with the command."""
    if not live:
        yield
        return
    from cosched_sim.federation.live_player import ServiceDiedError

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        yield
    except ServiceDiedError as error:
        raise Failure("; ".join([str(error), *getattr(error, "__notes__", ())]), FAILED) from None


def run_info(ctx: click.Context, seed: int) -> RunInfo:
    """Return what a summary says about this command."""
    from cosched_sim.results.output import RunInfo

    return RunInfo(ctx.meta[COMMAND], seed, ctx.meta[BEGAN])


def run_all(
    ready: Replay, info: RunInfo, stage: Path | None, doing: Progress, *, compares: bool = True
) -> dict[str, Any]:
    """Simulate every combination of schemes and return what --json prints.

    The files of each go to a folder of its own in `stage`. `compares`: tell differences, too, which needs scipy.
    """
    from cosched_sim.combinations import NONE, compared
    from cosched_sim.results.differences import differences
    from cosched_sim.results.output import summary, write_files, write_json
    from cosched_sim.results.staging import COMPARISON

    combinations = compared(ready.config)
    summaries: dict[str, Any] = {}
    from_none: dict[str, Any] = {}
    base = None
    for number, (name, schemes) in enumerate(combinations.items(), 1):
        doing.step(f"replaying {name} ({number} of {len(combinations)}) ...")
        result = ready.run(schemes)
        summaries[name] = write_files(result, stage / name, info) if stage else summary(result, info)
        if base is None:
            base = result
        elif compares:
            from_none[name] = differences(base, result)
    said = {key: summaries[NONE][key] for key in ("version", "command", "seed")}
    said |= {"combinations": summaries, "differences": from_none}
    if stage:
        write_json(stage / COMPARISON, said)
    return said


def _run(ready: Replay, info: RunInfo, stage: Path | None, doing: Progress) -> dict[str, Any]:
    from cosched_sim.results.output import summary, write_files

    doing.step("replaying ...")
    result = ready.run()
    if not stage:
        return summary(result, info)
    doing.step("writing ...")
    return write_files(result, stage, info)


def draw_report(folder: Path, doing: Progress) -> None:
    """Draw the report of a run, or of a comparison and each of its runs; without it, their other files are complete."""
    doing.step("drawing the report ...")
    from cosched_sim.reports.rebuilding import rebuild

    later = f"all but the report is written: cosched report {shlex.quote(str(folder))} draws it"
    try:
        rebuild(folder)
    except OSError as error:
        raise Failure(f"{folder}: {error.strerror}; {later}", FAILED) from None
    except Exception as error:
        error.add_note(later)
        raise


def _tell(said: dict[str, Any], as_json: bool) -> None:
    from cosched_sim.commands.tables import DIFFERENCES, comparison_table, differences_table, replay_tables
    from cosched_sim.results.wording import warnings

    runs = said.get("combinations", {"": said})
    if as_json:
        show_json(said)
    elif "combinations" in said:
        show(comparison_table(runs), "", DIFFERENCES, differences_table(runs, said["differences"]))
    else:
        show(*replay_tables(said))
    for name, summary in runs.items():
        for warning in warnings(summary):
            say(f"{name}: {warning}" if name else warning)
