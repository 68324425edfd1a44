"""`cosched study`: repeats published experiments."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cosched.cli.output.failures import FAILED, INTERRUPTED, Failure
from cosched.cli.output.terminal import COMMAND, progress, say, show
from cosched.errors import InputError
from cosched.extras import SIMULATOR, needing
from cosched.sim.commands.sweep import worker_options, workers_of
from cosched.sim.flags import parse_domain

if TYPE_CHECKING:
    from cosched.sim.studies.months import MonthsStudy

EPILOG = """\b
Examples:
  cosched study tang2011 --quick --out quick
  cosched study tang2011 --intrepid mira.swf.gz,procs_per_node=1 \\
                         --eureka kth.swf.gz --out ours

Without logs, months like those of the two machines are generated. With the real logs --intrepid and --eureka
(and, where needed, the keys nodes, procs_per_node, format and cut of a domain), each replication takes a window
of a month; the windows are evenly spread."""

MEET_EPILOG = """\b
Examples:
  cosched study meet --quick --out quick
  cosched study meet --logs mira.swf.gz kth.swf.gz --out ours

Each pair of --logs gives windows of a month, as many as do not overlap, spread evenly over the logs; the
second log is packed to a load of 0.5. The keys of a log are nodes, procs_per_node, format and cut, as those
of a domain."""

GROUPS_EPILOG = """\b
Examples:
  cosched study groups --quick --out quick
  cosched study groups --out full"""

WEISSMAN_EPILOG = """\b
Examples:
  cosched study weissman2004 --quick --out quick
  cosched study weissman2004 --log SDSC-SP2-1998.swf.gz --out full

Jobs are drawn from a model of SDSC's SP2. With --log, models of job logs are fitted and drawn from, too, and the
report has their goodness of fit (figures 5 to 8)."""

FLUID_EPILOG = """\b
Examples:
  cosched study fluid --quick --out quick
  cosched study fluid --out full"""

FLUID_OUT = "cosched-study-fluid"
WEISSMAN_OUT = "cosched-study-weissman2004"
GROUPS_OUT = "cosched-study-groups"
MEET_OUT = "cosched-study-meet"
DEFAULT_OUT = "cosched-study-tang2011"
MACHINES = ("intrepid", "eureka")

Found = TypeVar("Found")


class Studies(click.Group):
    """The group of the studies, each with its own options."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the named study; InputError."""
        if args and args[0] not in self.commands:
            known = ", ".join(self.commands)
            raise InputError("cosched study", None, f"no study is called {args[0]!r}; there are {known}")
        return super().resolve_command(ctx, args)


@click.group(cls=Studies, short_help="Carry out the experiments of a paper.")
def study() -> None:
    """Carry out published experiments, and compare the results with the papers.

    `cosched study NAME -h` lists the options of each.
    """


@study.command(short_help="Section V of Tang et al. (2011): figures, numbers, claims.", epilog=EPILOG)
@click.option("--quick", is_flag=True, help="Fewer replications and fewer points: two minutes.")
@click.option("--out", metavar="DIR", default=DEFAULT_OUT, help="Write results, figures, report.html there.")
@click.option(
    "--replications", type=click.IntRange(1, 1000), metavar="N", help="Replications of each case (10; --quick: 3)."
)
@click.option("--seed", type=click.IntRange(0), default=1, metavar="S", help="Seed of the first replication (1).")
@click.option("--days", type=click.FloatRange(1, 3650), default=30, metavar="D", help="Length of a month (30).")
@worker_options
@click.option("--resume", is_flag=True, help="Continue in DIR: run the cases that have no results there.")
@click.option("--intrepid", metavar="FILE[,KEY=VALUE,...]", help="The log that plays Intrepid.")
@click.option("--eureka", metavar="FILE[,KEY=VALUE,...]", help="The log that plays Eureka.")
@click.pass_context
@needing(SIMULATOR)
def tang2011(ctx: click.Context, /, out: str, **options: Any) -> None:
    """Section V of Tang et al., Job Coscheduling on Coupled High-End Computing Systems (2011).

    Figures 3 to 10, the paper's numbers and claims beside ours, and sensitivity beyond the paper. Prints the main
    numbers and where the files are. However it ends, --resume continues it: only cases in progress are lost.
    """
    _tang2011(ctx, Path(out), **options)


@study.command(short_help="Meet beside hold and yield: who waits, who loses, a verdict.", epilog=MEET_EPILOG)
@click.option("--quick", is_flag=True, help="Fewer replications: three minutes.")
@click.option("--out", metavar="DIR", default=MEET_OUT, help="Write results, tables, report.html there.")
@click.option(
    "--replications", type=click.IntRange(1, 1000), metavar="N", help="Replications of each case (20; --quick: 3)."
)
@click.option(
    "--further", type=click.IntRange(1, 1000), metavar="N", help="Those of all but the paper's V-D (as many)."
)
@click.option("--seed", type=click.IntRange(0), default=1, metavar="S", help="Seed of the first replication (1).")
@click.option("--days", type=click.FloatRange(1, 3650), default=30, metavar="D", help="Length of a month (30).")
@click.option("--logs", nargs=2, multiple=True, metavar="BIG SMALL", help="Two real logs, FILE[,KEY=VALUE,...] each.")
@worker_options
@click.option("--resume", is_flag=True, help="Continue in DIR, also with more replications.")
@click.pass_context
@needing(SIMULATOR)
def meet(ctx: click.Context, /, out: str, **options: Any) -> None:
    """Meet (docs/meet.md) beside hold and yield, in the set-up of Tang et al. (2011) and beyond it.

    Section V's loads and shares of pairs; meet's parts alone, and on one machine only; requested times, schedulers,
    three machines, real logs; who loses and who wins. Prints the verdict and where the files are. However it ends,
    --resume continues it: only cases in progress are lost.
    """
    _meet(ctx, Path(out), **options)


@study.command(short_help="Groups of two to five jobs beside pairs, on five machines.", epilog=GROUPS_EPILOG)
@click.option("--quick", is_flag=True, help="Two replications of a week: three minutes.")
@click.option("--out", metavar="DIR", default=GROUPS_OUT, help="Write results, tables, report.html there.")
@click.option(
    "--replications", type=click.IntRange(1, 1000), metavar="N", help="Replications of each case (10; --quick: 2)."
)
@click.option("--seed", type=click.IntRange(0), default=1, metavar="S", help="Seed of the first replication (1).")
@click.option("--days", type=click.FloatRange(1, 3650), metavar="D", help="Length of a replication (30; --quick: 7).")
@worker_options
@click.option("--resume", is_flag=True, help="Continue in DIR, also with more replications.")
@click.pass_context
@needing(SIMULATOR)
def groups(ctx: click.Context, /, out: str, **options: Any) -> None:
    """Groups (docs/groups.md) of two to five jobs on five machines, beside the same jobs in pairs.

    By the number of members, the load, and the share of jobs in groups: who starts together, how long groups and
    other jobs wait, what is held; a verdict. Prints the verdict and where the files are. However it ends, --resume
    continues it: only cases in progress are lost.
    """
    _groups(ctx, Path(out), **options)


@study.command("fluid", short_help="A fluid Eureka beside a batch one, for jobs with mates.", epilog=FLUID_EPILOG)
@click.option("--quick", is_flag=True, help="Two replications of a week, one scheduler: a minute.")
@click.option("--out", metavar="DIR", default=FLUID_OUT, help="Write results, tables, report.html there.")
@click.option(
    "--replications", type=click.IntRange(1, 1000), metavar="N", help="Replications of each case (8; --quick: 2)."
)
@click.option("--seed", type=click.IntRange(0), default=1, metavar="S", help="Seed of the first replication (1).")
@click.option("--days", type=click.FloatRange(1, 3650), metavar="D", help="Length of a replication (30; --quick: 7).")
@worker_options
@click.option("--resume", is_flag=True, help="Continue in DIR, also with more replications.")
@click.pass_context
@needing(SIMULATOR)
def fluid(ctx: click.Context, /, out: str, **options: Any) -> None:
    """A fluid Eureka (docs/fluid.md) beside a batch one, under hold, yield and meet, in months with pairs.

    Several harvest policies, least sizes, costs of a resize and shares of pairs: how long pairs and others wait, and
    how long jobs are there. Prints the verdict and where the files are. However it ends, --resume continues it: only
    cases in progress are lost.
    """
    _fluid(ctx, Path(out), **options)


@study.command(short_help="Section 4.4 of Weissman et al. (2004): fluid allocation.", epilog=WEISSMAN_EPILOG)
@click.option("--quick", is_flag=True, help="Five traces of 2,000 jobs: a minute.")
@click.option("--out", metavar="DIR", default=WEISSMAN_OUT, help="Write results, figures, report.html there.")
@click.option("--traces", type=click.IntRange(1, 1000), metavar="N", help="Traces of each case (100; --quick: 5).")
@click.option("--seed", type=click.IntRange(0), default=1, metavar="S", help="Seed of the first trace (1).")
@click.option("--log", "logs", multiple=True, metavar="FILE", help="A job log to fit, too; can be repeated.")
@worker_options
@click.option("--resume", is_flag=True, help="Continue in DIR, also with other numbers of workers.")
@click.pass_context
@needing(SIMULATOR)
def weissman2004(ctx: click.Context, /, out: str, **options: Any) -> None:
    """Section 4.4 of Weissman, Abburi, England, Integrated Scheduling: The Best of Both Worlds (2004).

    Tables 2 and 3, figures 9 to 16, the paper's numbers and claims beside ours, and what other loads and other readings
    of the paper change. Prints what agrees and where the files are. However it ends, --resume continues it: only cases
    in progress are lost.
    """
    _weissman2004(ctx, Path(out), **options)


@study.command(short_help="Replay small workloads with known schedules.")
@click.option("--out", metavar="DIR", help="Write the workloads, their schedules and our results there.")
@click.option("--check", metavar="DIR", help="Compare another simulator's schedules, one file per workload.")
@needing(SIMULATOR)
def reference(out: str | None, check: str | None) -> None:
    """Replay small workloads whose schedules are known to be right, or check those of another simulator.

    Exit code 1: some schedules are wrong.
    """
    from cosched.sim.reference.checking import check_results, run_reference

    if check is not None:
        right = check_results(Path(check), say)
    else:
        right = run_reference(Path(out) if out is not None else None, say)
    if not right:
        raise Failure("some schedules are wrong", FAILED)


def _tang2011(
    ctx: click.Context,
    folder: Path,
    *,
    workers: int | None,
    dask: str | None,
    resume: bool,
    intrepid: str | None,
    eureka: str | None,
    **wished: Any,
) -> None:
    from cosched.sim.commands.study_tables import study_summary
    from cosched.sim.studies.tang2011.report import rebuild
    from cosched.sim.studies.tang2011.running import Wish, run_study

    wish = Wish(ctx.meta[COMMAND], logs=_logs(intrepid, eureka), **wished)
    found = _carry_out(folder, partial(run_study, wish), rebuild, workers=workers, dask=dask, resume=resume)
    show(*study_summary(found, folder))
    _fail_if(found.results.failed, folder)


def _meet(
    ctx: click.Context, folder: Path, *, workers: int | None, dask: str | None, resume: bool, logs: Any, **wished: Any
) -> None:
    from cosched.sim.studies.meet.report import rebuild
    from cosched.sim.studies.meet.running import Wish, run_study

    pairs = [(_log("--logs", big), _log("--logs", small)) for big, small in logs]
    wish = Wish(ctx.meta[COMMAND], logs=pairs, **wished)
    found = _carry_out(folder, partial(run_study, wish), rebuild, workers=workers, dask=dask, resume=resume)
    show(*found.summary(folder))
    _fail_if(found.results.failed, folder)


def _groups(ctx: click.Context, folder: Path, **options: Any) -> None:
    from cosched.sim.studies.groups.cases import STUDY
    from cosched.sim.studies.groups.report import rebuild

    _months(ctx, folder, STUDY, rebuild, **options)


def _fluid(ctx: click.Context, folder: Path, **options: Any) -> None:
    from cosched.sim.studies.fluid.cases import STUDY
    from cosched.sim.studies.fluid.report import rebuild

    _months(ctx, folder, STUDY, rebuild, **options)


def _months(
    ctx: click.Context,
    folder: Path,
    study: MonthsStudy,
    rebuild: Callable[[Path], Any],
    *,
    workers: int | None,
    dask: str | None,
    resume: bool,
    **wished: Any,
) -> None:
    from cosched.sim.studies.months import Wish

    wish = Wish(ctx.meta[COMMAND], **wished)
    found = _carry_out(folder, partial(study.run, wish), rebuild, workers=workers, dask=dask, resume=resume)
    show(*found.summary(folder))
    _fail_if(found.results.failed, folder)


def _weissman2004(
    ctx: click.Context, folder: Path, *, workers: int | None, dask: str | None, resume: bool, logs: Any, **wished: Any
) -> None:
    from cosched.sim.studies.weissman2004.report import rebuild
    from cosched.sim.studies.weissman2004.running import Wish, run_study

    wish = Wish(ctx.meta[COMMAND], logs=list(logs), **wished)
    found = _carry_out(folder, partial(run_study, wish), rebuild, workers=workers, dask=dask, resume=resume)
    show(*found.summary(folder))
    _fail_if(found.results.failed, folder)


def _carry_out(
    folder: Path,
    run: Callable[..., Path],
    rebuild: Callable[[Path], Found],
    *,
    workers: int | None,
    dask: str | None,
    resume: bool,
) -> Found:
    """Run a study's cases, then write tables and figures from their results; return what `rebuild` found."""
    from cosched.sim.studies.folder import Told

    with progress("reading ...") as doing:
        with _interruptible(folder), workers_of(workers, dask, doing) as hands:
            run(folder, hands, Told(doing.say, doing.step), resume=resume)
        doing.step("drawing tables and figures ...")
        return rebuild(folder)


@contextlib.contextmanager
def _interruptible(folder: Path) -> Iterator[None]:
    """Say how an interrupted study continues."""
    try:
        yield
    except KeyboardInterrupt:
        reason = f"interrupted; finished cases are in {folder}, and --resume continues"
        raise Failure(reason, INTERRUPTED) from None


def _fail_if(failed: int, folder: Path) -> None:
    if failed:
        raise Failure(f"{failed:,} cases failed; {folder / 'results.parquet'} says why", FAILED)


def _logs(intrepid: str | None, eureka: str | None) -> dict[str, dict[str, str]]:
    """Return the settings of the logs by machine; empty if neither option is given."""
    given = {machine: text for machine, text in zip(MACHINES, (intrepid, eureka), strict=True) if text is not None}
    if len(given) == 1:
        there, missing = sorted(MACHINES, key=given.__contains__, reverse=True)
        raise InputError(f"--{missing}", None, f"missing: --{there} needs it")
    return {machine: _log(f"--{machine}", text) for machine, text in given.items()}


def _log(option: str, text: str) -> dict[str, str]:
    try:
        settings = parse_domain(text)
    except InputError as error:
        raise InputError(option, error.where, error.reason) from None
    return {"trace": settings.pop("name"), **settings}
