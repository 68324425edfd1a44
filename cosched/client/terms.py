"""What a job does when others end with which it has started, or are queued again: as it is asked for, and as shown."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from cosched.client.fields import duration, many, plain, word_if_any, words
from cosched.client.view import View
from cosched.v1 import job_pb2
from cosched.validation.durations import span

IF_REQUEUED = words(job_pb2.IfRequeued, "IF_REQUEUED_")
Span = float | timedelta  # seconds
_THEN = {None: "is queued again", "continue": "runs on", "requeue": "is queued again", "end": "is cancelled"}


class Terms(View[job_pb2.Terms]):
    """What a job does when others end, or are queued again."""

    ends_with = many(str, "It ends when the members on these domains have ended.")
    fail_together = plain(bool, "Whether it fails if another member fails, or is cancelled while it runs.")
    if_requeued = word_if_any(IF_REQUEUED, "continue, requeue or end; None: as its domain is configured.")
    together_for = duration("Within so long after its start it is queued again with others; None: always.")

    def __str__(self) -> str:
        parts = [f"ends with {' and '.join(self.ends_with)}"] if self.ends_with else []
        if self.fail_together:
            parts.append("fails if another fails")
        if self.if_requeued or self.together_for:
            within = f", within {span(self.together_for.total_seconds())} of its start" if self.together_for else ""
            parts.append(f"{_THEN[self.if_requeued]} if another is queued again{within}")
        return "; ".join(parts)


def make_terms(
    ends_with: Sequence[str], fail_together: bool, if_requeued: str | None, together_for: Span | None
) -> job_pb2.Terms | None:
    """Return the message; None: nothing is said. ValueError: there is no such choice."""
    if not (ends_with or fail_together or if_requeued is not None or together_for is not None):
        return None
    if if_requeued is not None and if_requeued not in IF_REQUEUED.values():
        raise ValueError(f"{if_requeued!r} is not one of {', '.join(IF_REQUEUED.values())}")
    choice = None if if_requeued is None else f"IF_REQUEUED_{if_requeued.upper()}"
    return job_pb2.Terms(
        ends_with=ends_with, fail_together=fail_together, if_requeued=choice, together_for=length_if(together_for)
    )


def length(time: Span) -> timedelta:
    """Return a length of time that a caller has given."""
    return time if isinstance(time, timedelta) else timedelta(seconds=time)


def length_if(time: Span | None) -> timedelta | None:
    """Return a length of time, if the caller has given one."""
    return None if time is None else length(time)
