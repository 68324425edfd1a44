"""`cosched usage` and `cosched efficiency`: what jobs have cost beyond their runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from cosched.cli.client.connection import connected, json_option, server_option
from cosched.cli.client.explain import explained, title_width
from cosched.cli.client.jobs import JOB_OR_GROUP
from cosched.cli.client.members import one_of
from cosched.cli.client.spans import SPAN
from cosched.cli.client.wording import local_time
from cosched.cli.output.failures import FAILED, Failure
from cosched.cli.output.plain_text import printable
from cosched.cli.output.terminal import show_json, show_table, show_text
from cosched.validation.durations import clock, span

if TYPE_CHECKING:
    from cosched.client import Cost, Explanation, Outlook, Usage

HEADER = ("JOBS", "HELD", "BOOKED", "CHARGED", "PUSHED", "SLOTS")
NO_ACCOUNT = "(none)"
_BY = click.Choice(["user", "account", "pair"])


@click.command()
@click.option("--by", type=_BY, default="user", show_default=True, help="What is summed up.")
@click.option("--since", type=SPAN, metavar="TIME", help="Of the last 7d, 12h, ...; else all that is kept, a year.")
@json_option
@server_option
def usage(by: str, since: int | None, as_json: bool, server: str | None) -> None:
    """Show what jobs have cost beyond their runs, in node-hours, the largest sum first.

    HELD: nodes held unused for mates. BOOKED: nodes kept unused while mates' domains were asked. CHARGED: both; the
    owner of the job that kept the nodes is charged. PUSHED: starts before their turn have pushed the first jobs of
    the queue by so much. SLOTS: nodes were free for jobs that had slots, and waited for their mates. A DAY, of MAY:
    what accounts with a budget have held in the last day, and may hold.
    """
    with connected(server) as client:
        found = client.usage(by, since)
    budgets = any(sum.may_hold_in_a_day is not None for sum in found)
    header = (by.upper(), *HEADER, *(("A DAY", "MAY") if budgets else ()))
    show_table(header, (_row(sum, budgets) for sum in found), header[1:], found if as_json else None)


def _row(sum: Usage, budgets: bool) -> Sequence[str]:
    cost = sum.cost
    costs = map(_hours, (cost.held, cost.booked, cost.charged, cost.pushed, cost.slots))
    row = [printable(sum.name) or NO_ACCOUNT, f"{sum.jobs:,}", *costs]
    return [*row, _hours(sum.held_in_a_day), _hours(sum.may_hold_in_a_day)] if budgets else row


@click.command()
@click.argument("name", metavar="ID|GROUP", type=JOB_OR_GROUP)
@json_option
@server_option
def efficiency(name: str, as_json: bool, server: str | None) -> None:
    """Show what a pair or a group has cost: how long its jobs waited, what they held, and how far apart they started.

    EFFICIENT is the share of the node-hours of their runs in those and what is charged. The domains of mates are asked.
    A group, or a pair by its name, is found as by cosched show.
    """
    with one_of(name, server) as (client, job):
        found = explained(client, [job])
    if not found:
        raise Failure("this domain does not tell what jobs cost: its version is older", FAILED)
    sides = (found[0].job, *found[0].mates)
    if as_json:
        show_json({"skew": _skew(sides), "charged": _charged(sides), "efficient": _efficient(sides), "jobs": sides})
        return
    show_text("\n".join(map(printable, _lines(found[0]))))


def _lines(told: Explanation) -> Iterator[str]:
    sides = (told.job, *told.mates)
    width = title_width(sides)
    for side in sides:
        yield f"{side!s:<{width}}{side.state or 'state not known'}".rstrip()
        yield from (f"  {title:<{width - 2}}{text}" for title, text in _facts(side))
    if (skew := _skew(sides)) is not None:
        yield f"{'skew':<{width}}{span(skew.total_seconds())}"
    yield f"{'charged':<{width}}{_hours(_charged(sides))} node-hours"
    if (share := _efficient(sides)) is not None:
        yield f"{'efficient':<{width}}{share:.1%}"


def _facts(side: Outlook) -> Iterator[tuple[str, str]]:
    if side.problem:
        yield "unknown", side.problem
    if side.submitted_at and side.started_at:
        waited = clock(round((side.started_at - side.submitted_at).total_seconds()))
        yield "waited", f"{waited}, until {local_time(side.started_at)}"
    if side.started_at and side.ended_at:
        ran = clock(round((side.ended_at - side.started_at).total_seconds()))
        yield "ran", f"{ran} on {side.nodes:,} node{'s' if side.nodes > 1 else ''}"
    if side.cost:
        yield "charged", _cost(side.cost)


def _cost(cost: Cost) -> str:
    pushed = f"; it has pushed others by {_hours(cost.pushed)}" if cost.pushed else ""
    parts = f"held {_hours(cost.held)}, booked {_hours(cost.booked)}"
    return f"{_hours(cost.charged)} node-hours: {parts}{pushed}"


def _skew(sides: Sequence[Outlook]) -> timedelta | None:
    """Return how far apart the jobs started, by one clock if that was measured; None: not known of all."""
    if sides[0].gap is not None:
        return abs(sides[0].gap)
    starts = [side.started_at for side in sides if side.started_at]
    return max(starts) - min(starts) if len(starts) == len(sides) > 1 else None


def _charged(sides: Sequence[Outlook]) -> int:
    """Return node-seconds, where they are known."""
    return sum(side.cost.charged for side in sides if side.cost)


def _efficient(sides: Sequence[Outlook]) -> float | None:
    """Return the share of the runs in runs and charges; None: not all have ended, or none has run for a second.

    A job that has ended with its mate has used its nodes until then. One that has not started has used none.
    """
    if not all(side.ended_at for side in sides):
        return None
    runs = [side.nodes * (side.ended_at - side.started_at) for side in sides if side.started_at and side.ended_at]
    ran = sum(run.total_seconds() for run in runs)
    return ran / (ran + _charged(sides)) if ran else None


def _hours(node_seconds: int | None) -> str:
    return "" if node_seconds is None else f"{node_seconds / 3600:,.2f}"
