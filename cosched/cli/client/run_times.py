"""`cosched times`: how long jobs of a class run on a machine or a cluster; corrections."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from cosched.cli.client.connection import connected, json_option, server_option
from cosched.cli.client.spans import SPAN
from cosched.cli.output.plain_text import printable, table
from cosched.cli.output.terminal import say, show_json, show_text
from cosched.core.scheduling.run_times import Pair
from cosched.validation.run_times import read_run_times, read_runs, written
from cosched.words.errors import InputError

if TYPE_CHECKING:
    from cosched.client import RunTime

CLASS, RESOURCE = "JOB CLASS", "RESOURCE"
NAMES = {"pair": (CLASS, RESOURCE), "class": (CLASS,), "resource": (RESOURCE,), "user": ("USER", "QUEUE")}
NUMBERS = ("RUNS", "MEAN", "SD", "10 %", "50 %", "90 %")
EXPECTED = ("EXPECTED", "+-")
_STATED, _SET = (str, str, SPAN), "Expect this time until a run completes. May be repeated."
_FORGET = "Forget what was learned and stated. May be repeated."
_IMPORT = "Expect the times of a file; or take over the runs of another domain (cosched site runs --csv)."


@click.command()
@click.option("--by", type=click.Choice([*NAMES]), default="pair", show_default=True, help="What is summed up.")
@click.option("--csv", "as_csv", is_flag=True, help="Print what is expected as a file of times.")
@json_option
@click.option("--set", "stated", nargs=3, type=_STATED, multiple=True, metavar="CLASS RESOURCE TIME", help=_SET)
@click.option("--forget", "forgotten", nargs=2, multiple=True, metavar="CLASS RESOURCE", help=_FORGET)
@click.option("--import", "file", type=click.Path(), metavar="FILE", help=_IMPORT)
@server_option
def times(
    by: str,
    as_csv: bool,
    as_json: bool,
    stated: Sequence[tuple[str, str, int]],
    forgotten: Sequence[tuple[str, str]],
    file: str | None,
    server: str | None,
) -> None:
    """Show how long jobs of each class have run on each machine and cluster, and what is expected; or correct it.

    Runs that completed count; preempted and failed ones do not. SD: their standard deviation. 50 %: half of them are
    not longer. EXPECTED: their mean; else what is stated; else the mean on resources of the same kind. +-: the standard
    deviation of the next run from that. All times are seconds.

    --set, --forget and --import are for operators. The runs so far of what they name count no more.
    """
    runs = None if file is None else read_runs(file)
    corrections = _corrections(stated, forgotten, () if file is None or runs is not None else read_run_times(file))
    if (corrections or runs is not None) and (as_csv or as_json or by != "pair"):
        raise click.UsageError("run times are either shown or corrected: leave out --by, --csv and --json")
    if as_csv and by != "pair":
        raise click.UsageError("a file of times is by pair: leave out --by")
    with connected(server) as client:
        if corrections or runs is not None:
            client.correct_run_times(corrections, runs or ())
            say(f"run times corrected: {len(corrections) + len(runs or ()):,}")
            return
        found = client.run_times(by)
    if as_json:
        show_json(found)
    elif as_csv:
        show_text(written(_expected(found)).removesuffix("\n"))
    else:
        header = (*NAMES[by], *NUMBERS, *((*EXPECTED, "BY") if by == "pair" else ()))
        show_text(table(header, (_row(known, by) for known in found), numbers=(*NUMBERS, *EXPECTED)))


def _corrections(
    stated: Iterable[tuple[str, str, int]],
    forgotten: Iterable[tuple[str, str]],
    imported: Iterable[tuple[int, Pair, int]],
) -> dict[tuple[str, str], int | None]:
    """Return the seconds to be expected, None: forgotten; InputError if two options are about the same."""
    corrections: dict[tuple[str, str], int | None] = {}
    of_file = ((*pair, seconds) for _, pair, seconds in imported)
    for job_class, resource, seconds in (*of_file, *stated, *((*pair, None) for pair in forgotten)):
        if (job_class, resource) in corrections:
            raise InputError(f"{job_class} {resource}", None, "is corrected twice: name it once")
        corrections[job_class, resource] = seconds
    return corrections


def _expected(found: Iterable[RunTime]) -> list[tuple[Pair, int]]:
    """Return what is known of each job class on a resource itself: it may not be able to run on others of its kind."""
    told = ((Pair(each.job_class, each.resource), each.expected) for each in found if each.source != "kind")
    return [(pair, round(expected.total_seconds())) for pair, expected in told if expected is not None]


def _row(known: RunTime, by: str) -> list[str]:
    names = {"class": (known.job_class,), "resource": (known.resource,), "user": (known.user, known.queue)}
    row = [*map(printable, names.get(by, (known.job_class, known.resource))), f"{known.runs:,}"]
    row += [_seconds(known.mean), _decimal(known.standard_deviation)]
    row += map(_seconds, (known.tenth, known.median, known.ninetieth))
    return [*row, _seconds(known.expected), _decimal(known.spread), known.source or ""] if by == "pair" else row


def _seconds(time: timedelta | None) -> str:
    return "" if time is None else f"{time.total_seconds():,.0f}"


def _decimal(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:,.1f}"
