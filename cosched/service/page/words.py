"""Times and numbers in words."""

from __future__ import annotations

from datetime import datetime, timedelta

from cosched.client import Estimate, Outlook
from cosched.client.explanations import how_good
from cosched.validation.durations import span as span


def ago(then: datetime | None, now: datetime) -> str:
    """Say when something was, or will be."""
    if then is None:
        return "never"
    length = (now - then).total_seconds()
    return f"{span(length)} ago" if length >= 0 else f"in {span(-length)}"


def until(then: datetime | None, now: datetime) -> str:
    """Say how long something has lasted."""
    return span(max(0.0, (now - then).total_seconds())) if then is not None else "unknown"


def count(number: int, what: str) -> str:
    """Say how many: 1 node, 2 nodes."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def milliseconds(length: timedelta | None) -> str:
    """Say a short time."""
    if length is None:
        return "unknown"
    value = abs(length.total_seconds()) * 1000
    return f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"


def soon(then: datetime, now: datetime) -> str:
    """Say when something is expected, which may be overdue."""
    return ago(then, now) if then > now else "now"


def start(estimate: Estimate, now: datetime) -> str:
    """Say in short when a start is expected, or agreed."""
    return f"{soon(estimate.at, now)}{', agreed' if estimate.source == 'slot' else ''}"


def expected(estimate: Estimate, now: datetime) -> str:
    """Say when something is expected, how old this is, and how good such estimates have been."""
    if estimate.source == "has_nodes":
        return "has its nodes, and could start now"
    if estimate.source == "slot":
        return f"starts {ago(estimate.at, now)} as agreed, or earlier"
    said = f"expected {soon(estimate.at, now)}"
    age = (now - estimate.made_at).total_seconds()
    notes = [f"as of {span(age)} ago"] if age >= 1 else []
    notes += filter(None, [how_good(estimate)])
    return f"{said} ({'; '.join(notes)})" if notes else said


def place(side: Outlook, now: datetime) -> str:
    """Say which place a job has in the queue; empty if that is unknown."""
    if side.position is None:
        return ""
    said = f"{side.position} of {side.queued} in the queue"
    return said if side.position_at is None else f"about {said}, as of {ago(side.position_at, now)}"


def clock(instant: datetime | None) -> str:
    """Say an instant, in UTC."""
    return instant.strftime("%Y-%m-%d %H:%M:%S UTC") if instant is not None else ""
