"""Jobs, mates and times in the words of the commands."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from cosched.validation.durations import clock, span

if TYPE_CHECKING:
    from cosched.client import Estimate, Group, Job, Mate, Outlook

FRESH = 40  # seconds for which the state of a mate is told without its age
_WAITING = {"queued": "PD", "ready": "RD", "holding": "HO"}
_ENDED = {"completed": "CD", "failed": "F", "cancelled": "CA"}
STATE_CODES = {**_WAITING, "running": "R", **_ENDED, "unknown": "UN"}
WAITING = tuple(_WAITING)
CODES = {**STATE_CODES, "starting": "ST"}  # which are listed among those that run


def gap_found(gap: timedelta | None) -> str:
    """Say how long after or before its mate a job began; empty: together, or that is not known."""
    seconds = 0 if gap is None else round(gap.total_seconds())
    return f"the job started {clock(abs(seconds))} {'later' if seconds > 0 else 'earlier'}" if seconds else ""


def meaning(job: Job) -> str:
    """Say what the job's reason means; empty if that is not known here."""
    from cosched.words.reasons import meaning_of  # slow: lists of jobs do not need it

    return meaning_of(job.reason, of_group=job.group is not None) or ""


def mate_found(mate: Mate) -> str:
    """Say what the mate's domain answered."""
    if mate.lookup == "found":
        return f"its mate is {mate}{_known(mate.status, mate.heard_at)}"
    if mate.lookup == "unsubmitted":
        return f"its mate is not submitted yet to {mate.domain}"
    if mate.lookup == "no_pair":
        then = "starts alone" if mate.or_alone else "waits until it is linked or unlinked"
        return f"{_wrong_mate(mate)}: it {then}"
    return f"no answer from {mate.domain} about its mate yet: it is asked again as soon as it answers"


def mate_missed(mate: Mate) -> str:
    """Say why a job that has ended had no mate, as far as the mate's domain answered."""
    if mate.lookup == "unsubmitted":
        return f"its mate was not submitted to {mate.domain}"
    return _wrong_mate(mate) if mate.lookup == "no_pair" else f"no answer came from {mate.domain} about its mate"


def _wrong_mate(mate: Mate) -> str:
    from cosched.words.wrong_mates import wrong_mate  # slow: lists of jobs do not need it

    return wrong_mate(mate.domain, mate.id, mate.pair, mate.problem)


def _known(status: str | None, heard_at: datetime | None) -> str:
    """Say the last known state of a mate, with its age if it may have changed since."""
    if not status:
        return ""
    old = heard_at is not None and (datetime.now(UTC) - heard_at).total_seconds() >= FRESH
    return f" ({status}{f', as of {_age(heard_at)} ago' if heard_at is not None and old else ''})"


def windows_found(group: Group) -> str:
    """Say when the jobs of a group start, if that was given, and those that do not start with the others."""
    from cosched.validation.group_windows import windows_in_words  # slow: lists of jobs do not need it

    at = f"starts at {local_time(group.at)}" if group.at is not None else ""
    return "".join(f"; {part}" for part in (at, windows_in_words(group.windows)) if part)


def group_found(group: Group) -> str:
    """Say which other members of a group are known."""
    known = [f"{member}{_known(member.status, member.heard_at)}" for member in group.members if member.id]
    missing = [member.domain for member in group.members if not member.id]
    parts = [f"its group has {' and '.join(known)}"] if known else []
    if missing:
        parts.append(f"{'no job' if known else 'its group has no job'} on {' and '.join(missing)} yet")
    return ", ".join(parts)


def expected(estimate: Estimate) -> str:
    """Say when a start is expected, how good that is, and where it comes from."""
    from cosched.client.explanations import how_good

    if estimate.source == "has_nodes":
        return "now: it has its nodes"
    if estimate.source == "slot":
        return f"{local_time(estimate.at)}, as agreed, or earlier"
    by = "the batch system's" if estimate.source == "batch_system" else "the plan's"
    ahead = span(max(0.0, (estimate.at - datetime.now(UTC)).total_seconds()))
    parts = f"{local_time(estimate.at)}, in {ahead}", how_good(estimate)
    return f"{'; '.join(filter(None, parts))} ({by} estimate, {_age(estimate.made_at)} ago)"


def place(outlook: Outlook) -> str:
    """Say which place a job has in the queue; empty if that is unknown."""
    if outlook.position is None:
        return ""
    said = f"{outlook.position:,} of {outlook.queued:,} in the queue"
    at = outlook.position_at
    return said if at is None else f"about {said} (by the batch system's order, {_age(at)} ago)"


def _age(instant: datetime) -> str:
    return span(max(0.0, (datetime.now(UTC) - instant).total_seconds()))


def kept_until(job: Job) -> str:
    """Return until when the nodes of a ready job are kept for its group, as its reason says; empty: they are not."""
    return f" until {local_time(job.holds.until)[-8:]}" if job.state == "ready" and job.holds.until else ""


def local_time(instant: datetime | None) -> str:
    """Format an instant in the user's time zone; empty for None."""
    return "" if instant is None else instant.astimezone().strftime("%Y-%m-%d %H:%M:%S")
