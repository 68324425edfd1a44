"""`cosched study`: lists the studies, and carries out any of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from cosched.cli.output.failures import FAILED, Failure
from cosched.cli.output.terminal import COMMAND, progress, say, show
from cosched.installation.extras import SIMULATOR, need
from cosched.words.errors import InputError
from cosched_sim.commands.sweep import interruptible, worker_options, workers_of
from cosched_sim.flags import parse_domain
from cosched_sim.studies.loading import names, study_called, unknown
from cosched_sim.studies.study import Study

REFERENCE = "reference"
REPLICATIONS = click.IntRange(1, 1000)
LOGS = ("intrepid", "eureka", "logs")  # options that name a log by the settings of a domain


class Studies(click.Group):
    """The group of the studies that are installed, each with its own options."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return their names; none is loaded."""
        return [*names(), REFERENCE]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a study; InputError if it cannot be loaded."""
        if cmd_name == REFERENCE:
            return super().get_command(ctx, cmd_name)
        study = study_called(cmd_name)
        return None if study is None else command_of(study)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the named study; InputError."""
        if args and args[0] not in self.list_commands(ctx):
            raise InputError("cosched study", None, unknown(args[0], REFERENCE))
        return super().resolve_command(ctx, args)


@click.group(cls=Studies, short_help="Carry out the experiments of a paper.", invoke_without_command=True)
@click.pass_context
def study(ctx: click.Context) -> None:
    """Carry out published experiments, and compare the results with the papers.

    Without a name: list the studies, and how long they take. `cosched study NAME -h` lists the options of each.
    """
    if ctx.invoked_subcommand is None:
        show(*_listed())
    else:
        need(SIMULATOR)


def _listed() -> Iterator[Any]:
    from cosched_sim.commands.tables import new_table

    table = new_table("study", "--quick", "full", "what it does", left=4)
    for each in filter(None, map(study_called, names())):
        table.add_row(each.name, *each.times, each.purpose)
    table.add_row(REFERENCE, "–", "seconds", "Replay small workloads with known schedules.")
    yield table
    yield ""
    yield "Times are those on two processors. `cosched study NAME --quick --out DIR` begins one, --resume continues it."


def command_of(study: Study) -> click.Command:
    """Return the command of a study."""

    @click.pass_context
    def run(ctx: click.Context, /, out: str, **given: Any) -> None:
        _carry_out(study, Path(out), ctx.meta[COMMAND], given)

    text = (
        f"{study.text}\n\nPrints what was found and where the files are. However it ends, --resume continues it: only "
        "cases in progress are lost."
    )
    examples = f"\b\nExamples:\n  cosched study {study.name} --quick --out quick\n{study.examples}".rstrip()
    command = click.Command(study.name, callback=run, help=text, short_help=study.purpose, epilog=examples)
    for option in (*_usual(study), *study.options):
        option(command)
    return command


def _usual(study: Study) -> Iterator[Any]:
    """Yield the options that all studies have."""
    quick, full = study.replications
    yield click.option("--quick", is_flag=True, help=f"Fewer {study.counted}, and fewer points: {study.times[0]}.")
    yield click.option(
        "--out", metavar="DIR", default=f"cosched-study-{study.name}", help="Write results, figures, report.html there."
    )
    counted = f"{study.counted.capitalize()} of each case ({full}; --quick: {quick})."
    yield click.option(f"--{study.counted}", type=REPLICATIONS, metavar="N", help=counted)
    seed = f"Seed of the first of the {study.counted} (1)."
    yield click.option("--seed", type=click.IntRange(0), default=1, metavar="S", help=seed)
    if study.days is not None:
        short, long = study.days
        shown = f"{long:g}" if short == long else f"{long:g}; --quick: {short:g}"
        length = f"Length of a replication ({shown})."
        yield click.option("--days", type=click.FloatRange(1, 3650), metavar="D", help=length)
    yield worker_options
    yield click.option("--resume", is_flag=True, help="Continue in DIR: run the cases that have no results there.")


@study.command(short_help="Replay small workloads with known schedules.")
@click.option("--out", metavar="DIR", help="Write the workloads, their schedules and our results there.")
@click.option("--check", metavar="DIR", help="Compare another simulator's schedules, one file per workload.")
def reference(out: str | None, check: str | None) -> None:
    """Replay small workloads whose schedules are known to be right, or check those of another simulator.

    Exit code 1: some schedules are wrong.
    """
    from cosched_sim.reference.checking import check_results, run_reference

    if check is not None:
        right = check_results(Path(check), say)
    else:
        right = run_reference(Path(out) if out is not None else None, say)
    if not right:
        raise Failure("some schedules are wrong", FAILED)


def _carry_out(study: Study, folder: Path, command: str, given: dict[str, Any]) -> None:
    """Run a study's cases, then write tables and figures from their results, and tell what they say."""
    from cosched_sim.studies.running import carry_out, rebuild
    from cosched_sim.studies.study import Told

    workers, dask, resume = (given.pop(name) for name in ("workers", "dask", "resume"))
    given |= {name: _log(f"--{name}", given[name]) for name in LOGS if given.get(name)}
    with progress("reading ...") as doing:
        with interruptible(folder), workers_of(workers, dask, doing) as hands:
            carry_out(study, {**given, "command": command}, folder, hands, Told(doing.say, doing.step), resume=resume)
        doing.step("drawing tables and figures ...")
        report = rebuild(folder)
    show(*report.summary(folder))
    if report.failed:
        raise Failure(f"{report.failed:,} cases failed; {folder / 'results.parquet'} says why", FAILED)


def _log(option: str, said: Any) -> Any:
    """Return the settings of a log, or of several."""
    if not isinstance(said, str):
        return [_log(option, each) for each in said]
    try:
        settings = parse_domain(said)
    except InputError as error:
        raise InputError(option, error.where, error.reason) from None
    return {"trace": settings.pop("name"), **settings}
