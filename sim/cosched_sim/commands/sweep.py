"""`cosched sweep`: a grid of replays, carried out by many workers."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cosched.cli.output.failures import FAILED, INTERRUPTED, Failure
from cosched.cli.output.terminal import COMMAND, Progress, progress, say, show, show_json
from cosched.installation.extras import SIMULATOR, needing
from cosched.words.errors import InputError
from cosched_sim.flags import file_settings

if TYPE_CHECKING:
    from cosched_sim.sweeps.grid import Sweep
    from cosched_sim.sweeps.sweeping import Swept
    from cosched_sim.sweeps.workers import Workers

EPILOG = """\b
FILE.toml has the keys of a replay's --config file and, above its tables,
  replications = 10      of each place in the grid (1)
  seed = 1               of replication 1; replication 2 has the next (1)
and, for some keys, the values whose combinations are all run:
  [grid]
  schemes = ["none", "HH", "HY", "YY", "MM"]   a letter for each domain
  "eureka.load" = [0.25, 0.5, 0.75]            a key of one domain
  release_interval = ["5m", "20m"]             of every domain
  mate_budget = [0, 0.25, 0.5]                 (with scheme = "meet")
  pair_window = ["1m", "2m"]                   of the replay

\b
Examples:
  cosched sweep loads.toml --out loads
  cosched sweep loads.toml --out loads --resume

A Dask cluster takes cases by --dask with the address of its scheduler. On a machine with a batch system
dask-jobqueue starts one: make its cluster (dask_jobqueue.SLURMCluster(...), then cluster.scale(...)) and give
its cluster.scheduler_address. Its workers must be able to import this version of cosched, with one thread each,
and find trace files under the same names, as on a shared file system."""


def worker_options(command: Any) -> Any:
    """Add the options that choose the workers, for `workers_of`."""
    local = click.option("--workers", type=click.IntRange(1, 4096), metavar="N", help="Local processes (one per CPU).")
    dask = click.option("--dask", metavar="ADDRESS", help="The workers of this Dask scheduler, tcp://HOST:PORT.")
    return local(dask(command))


@click.command(short_help="Run a grid of replays.", epilog=EPILOG)
@click.argument("file", metavar="FILE.toml")
@click.option("--replications", type=click.IntRange(1), metavar="N", help="Replications of each place in the grid.")
@click.option("--seed", type=click.IntRange(0), metavar="S", help="Seed of the first replication.")
@worker_options
@click.option("--out", metavar="DIR", help="Write results.parquet, averages.csv, sweep.json, report.html there.")
@click.option("--resume", is_flag=True, help="Continue in DIR: run the cases that have no results there.")
@click.option("--no-report", is_flag=True, help="Write no report.html and no figures there.")
@click.option("--json", "as_json", is_flag=True, help="Print the averages as JSON.")
@click.pass_context
@needing(SIMULATOR)
def sweep(
    ctx: click.Context,
    /,
    file: str,
    replications: int | None,
    seed: int | None,
    workers: int | None,
    dask: str | None,
    out: str | None,
    resume: bool,
    no_report: bool,
    as_json: bool,
) -> None:
    """Replay every combination of the settings in FILE.toml, in several replications.

    Prints the means over the replications, with 95 % intervals. Each case depends on its settings and its seed
    alone: `cosched replay` with the same ones gives the same result. A case that fails does not stop the others.
    However a sweep ends, --resume continues it: only cases in progress are lost.
    """
    if resume and out is None:
        raise InputError("--resume", None, "needs the folder to continue: --out DIR")
    with progress("reading ...") as doing:
        planned = read_sweep(file, replications=replications, seed=seed)
        if planned.replications > 1 and not planned.draws:
            doing.say("all replications will be the same: no trace and no pairs are drawn")
        with _folder(out) as folder, workers_of(workers, dask, doing) as hands:
            from cosched_sim.sweeps.sweeping import carry_out

            swept = carry_out(planned, folder, hands, ctx.meta[COMMAND], resume=resume, tell=doing.step)
            if out is not None and not no_report:
                doing.step("drawing the report ...")
                from cosched_sim.reports.of_sweep import write_report

                write_report(swept, folder)
    _tell(swept, planned, as_json)
    _tell_failed(swept, len(planned))


def read_sweep(path: str, **given: int | None) -> Sweep:
    """Read the sweep that a file describes; flags (`replications`, `seed`) win over it; InputError."""
    from cosched_sim.configuration import read_toml
    from cosched_sim.sweeps.checking import checked_sweep

    values = read_toml(path)
    grid = values.pop("grid", None)
    own = {key: values.pop(key, 1) for key in ("replications", "seed")}
    own |= {key: value for key, value in given.items() if value is not None}
    return checked_sweep(path, file_settings(path, values), grid, **own)


def workers_of(count: int | None, dask: str | None, doing: Progress) -> contextlib.AbstractContextManager[Workers]:
    """Return `count` local workers, or those of a Dask cluster; InputError, OSError."""
    from cosched.installation.compilation import announced
    from cosched_sim.sweeps.dask_workers import dask_workers
    from cosched_sim.sweeps.local_workers import local_workers
    from cosched_sim.warm_up import SIMULATED, run_all_kernels

    if count is not None and dask is not None:
        raise InputError("--dask", None, "has its own workers: give either --dask or --workers")
    if dask is not None:
        doing.step(f"connecting to {dask} ...")
        return dask_workers(dask)
    if said := announced(run_all_kernels, SIMULATED):
        doing.say(said)
    return local_workers(count)


@contextlib.contextmanager
def _folder(out: str | None) -> Iterator[Path]:
    """Yield the folder for the results; without --out a temporary one."""
    if out is None:
        with tempfile.TemporaryDirectory(prefix="cosched-sweep-") as name:
            yield Path(name)
        return
    with interruptible(out):
        yield Path(out)


@contextlib.contextmanager
def interruptible(folder: str | Path) -> Iterator[None]:
    """Say how what is interrupted in the block continues."""
    try:
        yield
    except KeyboardInterrupt:
        raise Failure(f"interrupted; finished cases are in {folder}, and --resume continues", INTERRUPTED) from None


def _tell(swept: Swept, planned: Sweep, as_json: bool) -> None:
    from cosched_sim.commands.sweep_tables import averages_table, differences_table
    from cosched_sim.sweeps.differences import comparison

    differences = None if swept.differences is None else swept.differences.to_dicts()
    if as_json:
        found = {"averages": swept.averages.to_dicts(), "differences": differences}
        show_json({**swept.said, "failed": swept.failed, **found})
        return
    domains, keys = [str(domain["name"]) for domain in planned.base["domains"]], list(planned.grid)
    show(averages_table(swept.averages, keys, domains))
    compared = comparison(planned.grid)
    if compared is not None and swept.differences is not None:
        title = f"Differences from {compared.key} {compared.value}, replication by replication:"
        show("", title, differences_table(swept.differences, keys, domains))


def _tell_failed(swept: Swept, cases: int) -> None:
    """Print the failed cases on standard error, and end with the exit code for them if there are any."""
    if not swept.failed:
        return
    for row in swept.first_failed:
        error = row.pop("error")
        say(f"{', '.join(f'{key}={value}' for key, value in row.items())}: {error}")
    more = swept.failed - len(swept.first_failed)
    if more:
        say(f"and {more:,} more")
    raise Failure(f"{swept.failed:,} of {cases:,} cases failed", FAILED)
