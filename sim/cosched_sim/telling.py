"""What the story of a replay tells, whoever plays its domains."""

from __future__ import annotations

from collections.abc import Callable

from cosched.core.effects import Call, Record, Start
from cosched.core.protocol import JobId, Reply, Request

RESIZED = "has another size"  # what happened to a job, beside those of `What`
# What messages say of slots.
OF_SLOTS = ("may_book", "not_before", "only_before", "book", "slot", "without", "earliest", "instant", "windows", "at")
Story = Callable[[int, str, str, str, dict[str, object]], None]  # instant, domain, job, what, detail


class Starts:
    """What is told of starts, once both is known: why, and on what. A try tells the latter first."""

    def __init__(self) -> None:
        self._known: dict[JobId, Record | Start] = {}

    def both(self, half: Record | Start) -> tuple[Record, Start] | None:
        """Return both halves of a job's start; None: this is the first."""
        other = self._known.pop(half.job, None)
        if other is None:
            self._known[half.job] = half
            return None
        record, start = (half, other) if type(half) is Record else (other, half)
        assert isinstance(record, Record)
        assert isinstance(start, Start)
        return record, start


def told_of_call(call: Call, reply: Reply) -> dict[str, object]:
    """Return what a story tells of a call and its answer."""
    asked = {key: value for key, value in _told(call.request).items() if key != "runs"}  # an answer before has told it
    return {"to": call.peer, **asked, "answer": _told(reply)}


def _told(message: Request | Reply) -> dict[str, object]:
    """Return what a story tells of a message: no text for people, and of slots only what is set."""
    unset = {"problem"} | {key for key in OF_SLOTS if not getattr(message, key, True)}
    return {key: value for key, value in message._asdict().items() if key not in unset}
