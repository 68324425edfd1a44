"""`cosched queue`, `cosched pairs` and `cosched groups`: the jobs of a domain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from cosched.cli.client.connection import connected, json_option, server_option
from cosched.cli.client.wording import CODES, STATE_CODES, WAITING, kept_until, local_time
from cosched.cli.output.plain_text import cut, printable
from cosched.cli.output.terminal import show_table
from cosched.cli.parameters import Parsed
from cosched.client.node_names import fold
from cosched.validation.durations import clock

if TYPE_CHECKING:
    from cosched.client import Client, Estimate, Explanation, Job, Mate

    Told = tuple[Job, Explanation | None]

HEADER = ("JOBID", "NAME", "USER", "ST", "TIME", "NODES", "NODELIST(REASON)", "MATE")
START_HEADER = ("JOBID", "NAME", "USER", "ST", "PLACE", "START", "NODES", "MATE", "MATE START", "TOGETHER")
GROUPS_HEADER = ("GROUP", "JOBID", "NAME", "USER", "ST", "REASON", "OTHER MEMBERS")
PAIRS_HEADER = ("JOBID", "NAME", "USER", "ST", "REASON", "MATE", "MATE STATE", "HEARD AT", "APART")
LAST = datetime.max.replace(tzinfo=UTC)
WITH_NODES = {"ready", "holding", "starting", "running"}


def _states(text: str) -> tuple[str, ...]:
    """Return states as words, of their words or codes."""
    words = {code.lower(): word for word, code in STATE_CODES.items()} | {word: word for word in STATE_CODES}
    states = [part.strip().lower() for part in text.split(",")]
    for state in states:
        if state not in words:
            known = ", ".join(f"{code} ({word})" for word, code in STATE_CODES.items())
            raise ValueError(f"{state!r} is not one of {known}")
    return tuple(words[state] for state in states)


_STATES = Parsed("states", _states)


@click.command()
@click.option("-u", "--user", metavar="NAME", help="Only jobs of this user.")
@click.option("-t", "--state", "states", type=_STATES, metavar="ST[,ST...]", help="Only jobs in these states.")
@click.option("-a", "--all", "ended_too", is_flag=True, help="Also show jobs that have ended.")
@click.option("--paired", is_flag=True, help="Only jobs that have mates.")
@click.option("--start", "starts", is_flag=True, help="Only jobs that wait: when they are expected to start.")
@json_option
@server_option
def queue(
    user: str | None,
    states: tuple[str, ...] | None,
    ended_too: bool,
    paired: bool,
    starts: bool,
    as_json: bool,
    server: str | None,
) -> None:
    """Show the jobs of the domain, as squeue does.

    States: PD queued, RD ready (awaits an answer about its mate), HO holding its nodes for its mate, R running,
    CD completed, F failed, CA cancelled.

    --start: when a job could start by itself, when its mate could, and when they are expected to start together, by
    the plans of their domains; on how many nodes, if its scheduler chooses that. `cosched explain` says more.
    """
    with connected(server) as client:
        if starts:
            waiting = _by_start(client, client.jobs(states or WAITING, user, paired))
            found = [job.as_dict() | {"explanation": told} for job, told in waiting] if as_json else None
            show_table(START_HEADER, (_start_row(*told) for told in waiting), ("JOBID", "PLACE", "NODES"), found)
            return
        now = client.domain().now
        jobs = client.iter_jobs(states or (STATE_CODES if ended_too else None), user, paired)
        shown: list[Any] = list(jobs) if as_json else [_row(job, now) for job in jobs]
    show_table(HEADER, shown, ("JOBID", "TIME", "NODES"), shown if as_json else None)


@click.command()
@click.option("-a", "--all", "ended_too", is_flag=True, help="Also show jobs that have ended.")
@json_option
@server_option
def pairs(ended_too: bool, as_json: bool, server: str | None) -> None:
    """Show the jobs that have mates, and what is known about the mates.

    A mate is shown as DOMAIN:ID, or as PAIR@DOMAIN while its id is unknown. APART: how much later the job started
    than its mate; 0:00: within a second.
    """
    with connected(server) as client:
        jobs = client.jobs(STATE_CODES if ended_too else None, paired_only=True)
    rows = chain.from_iterable(map(_pair_rows, jobs))
    show_table(PAIRS_HEADER, rows, ("JOBID", "APART"), jobs if as_json else None)


@click.command()
@click.option("-a", "--all", "ended_too", is_flag=True, help="Also show jobs that have ended.")
@json_option
@server_option
def groups(ended_too: bool, as_json: bool, server: str | None) -> None:
    """Show the groups that have jobs here, and what is known about their other members.

    A member is shown as DOMAIN:ID with its last known state, or as DOMAIN alone if it is not submitted yet, as far as
    is known here. A job that has ended is shown as long as others of its group are to start, by their windows. Groups
    of two are pairs.
    """
    with connected(server) as client:
        now = client.domain().now or datetime.now(UTC)
        grouped = [job for job in client.iter_jobs(STATE_CODES, paired_only=True) if job.group]
    jobs = [job for job in grouped if ended_too or job.ended_at is None or any(_to_start(job, now))]
    show_table(GROUPS_HEADER, (_group_row(job, now) for job in jobs), ("JOBID",), jobs if as_json else None)


def _to_start(job: Job, now: datetime) -> Iterator[str]:
    """Yield of each other member by when it starts, if that is to come; else nothing."""
    for member in job.group.members if job.group is not None else ():
        yield f"starts by {local_time(member.starts_by)}" if member.starts_by and member.starts_by > now else ""


def _group_row(job: Job, now: datetime) -> Sequence[str]:
    group = job.group
    assert group is not None
    told = zip(group.members, _to_start(job, now), strict=True)
    others = (f"{member} {member.status or starts_by}".rstrip() for member, starts_by in told)
    return printable(group.name), *_job(job), printable(job.reason), printable(", ".join(others))


def _row(job: Job, now: datetime | None) -> Sequence[str]:
    mates = cut(printable(str(job.group or ", ".join(map(str, job.mates)))))
    return *_job(job), _run_time(job, now), _nodes(job), cut(_place(job)), mates


def _job(job: Job) -> tuple[str, str, str, str]:
    return printable(job.id), cut(printable(job.name), 24), cut(printable(job.owner), 16), CODES[job.state]


def _nodes(job: Job) -> str:
    """Return how many nodes the job has, or needs; and between which numbers that may change."""
    sizes = job.malleable
    return str(job.nodes) if sizes is None else f"{job.nodes} ({sizes.least}-{sizes.ideal})"


def _by_start(client: Client, jobs: list[Job]) -> list[Told]:
    """Return the jobs with what is known of their starts, the earliest first."""
    from cosched.cli.client.explain import explained  # the plain list does not need it

    known = {told.job.id: told for told in explained(client, jobs)}
    return sorted(((job, known.get(job.id)) for job in jobs), key=lambda told: _earliest(*told) or LAST)


def _earliest(job: Job, told: Explanation | None) -> datetime | None:
    estimate = None if told is None else told.together or told.job.start
    return estimate.at if estimate is not None else job.slot


def _start_row(job: Job, told: Explanation | None) -> Sequence[str]:
    id, name, user, state, _, nodes, _, mates = _row(job, None)
    if told is None:
        return id, name, user, state, "", local_time(job.slot), nodes, mates, "", ""
    if told.job.start is not None and told.job.start.nodes is not None:
        nodes = str(told.job.start.nodes)
    mates_start = ", ".join(_start(mate.start) or "?" for mate in told.mates)
    place = str(told.job.position or "")
    return id, name, user, state, place, _start(told.job.start), nodes, mates, mates_start, _start(told.together)


def _start(estimate: Estimate | None) -> str:
    return "" if estimate is None else "now" if estimate.source == "has_nodes" else local_time(estimate.at)


def _run_time(job: Job, now: datetime | None) -> str:
    started = job.started_at
    if started is None:
        return "0:00"
    until = job.ended_at or now
    return clock(int((until - started).total_seconds())) if until else ""


def _place(job: Job) -> str:
    """Return the names of the job's nodes, or in parentheses why it has none."""
    state, reason, kept = job.state, job.reason, kept_until(job)
    if reason:
        slot = None if kept else job.slot
        reason = f"({printable(reason)}{kept}{f' {local_time(slot)}' if slot else ''})"
    nodes = printable(fold(job.node_names)) if state in WITH_NODES else ""
    return nodes + reason if state == "holding" else reason if kept else nodes or reason


def _apart(job: Job, mate: Mate) -> str:
    """Return how much later the job began than its mate; with a minus: earlier; empty: that is not known."""
    if mate.gap is not None:
        seconds = int(mate.gap.total_seconds())
        return f"{'-' if seconds < 0 else ''}{clock(abs(seconds))}"
    together = mate.status == "running" and job.started_at is not None and job.started_at == mate.heard_at
    return clock(0) if together else ""


def _pair_rows(job: Job) -> Iterator[Sequence[str]]:
    for mate in job.mates:
        answer = {"found": "", None: "no answer yet"}.get(mate.lookup, (mate.lookup or "").replace("_", " "))
        known = mate.status or answer, local_time(mate.heard_at), _apart(job, mate)
        yield *_job(job), printable(job.reason), cut(printable(str(mate))), *known
