"""A domain that drains before its maintenance: what is on record of that, and what it waits for."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from google.protobuf.duration_pb2 import Duration

from cosched.core.events import Drained, Resumed
from cosched.core.job import JobState
from cosched.core.protocol import JobId
from cosched.service.domain.decisions import Decisions
from cosched.service.domain.records import Records
from cosched.service.domain.story import Noted
from cosched.service.wire.fields import FieldError
from cosched.validation.durations import span

T = TypeVar("T")
DRAIN = "drain"  # the key of what is on record
EXPECTED = 3600  # seconds that a drained domain is expected to be away, unless it is said
SETTLE = 30  # seconds that what holds may go on, unless it is said
MAX_SETTLE = 3600


@dataclass(frozen=True, slots=True)
class Drain:
    """That this domain drains; instants of service time."""

    since: int
    until: int  # when it expects to be resumed, as its peers are told
    settled_by: int  # when jobs that held before hold no longer


class Draining:
    """Whether a domain drains. It changes only in a turn."""

    def __init__(self, decisions: Decisions, records: Records) -> None:
        self._decisions = decisions
        self._jobs = records.jobs
        self._journal = records.journal
        self.present: Drain | None = None

    def begin(self, expected: int, settle: int) -> None:
        """Make no holds and no pairs, for so many seconds as far as is known."""
        now = self._journal.now
        since = self.present.since if self.present is not None else now
        self.present = drain = Drain(since, now + expected, now + settle)
        self._journal.changes.values[DRAIN] = json.dumps(asdict(drain))
        self._journal.note(None, Noted.DRAINS, until=drain.until)
        self._decisions.feed(Drained(drain.settled_by))

    def recover(self, kept: str | None) -> None:
        """Let the domain drain if it did before a restart, by what is on record of that."""
        if (values := json.loads(kept or "null")) is not None:
            self.present = Drain(**values)
            self._decisions.feed(Drained(self.present.settled_by))

    def end(self) -> None:
        """Note that the domain is resumed."""
        if self.present is None:
            return
        self.present = None
        self._journal.changes.values[DRAIN] = json.dumps(None)
        self._journal.note(None, Noted.RESUMED)
        self._decisions.feed(Resumed())

    def unsettled(self) -> list[JobId]:
        """Return the jobs that have nodes and wait for their mates, or whose nodes are just being given back."""
        waiting = (JobState.READY, JobState.HOLDING)
        wait = {job for job, record in self._jobs.items() if record.state in waiting and record.paired}
        return sorted(wait | self._decisions.giving_back, key=int)


def check_seconds(message: Any, field: str, most: int, default: T) -> int | T:
    """Return whole seconds from 0 to `most` in this field, `default` if there are none; FieldError."""
    if not message.HasField(field):
        return default
    duration: Duration = getattr(message, field)
    if not 0 <= duration.seconds <= most or duration.nanos:
        raise FieldError(field, f"is at most {span(most)} ({most:,} s), in whole seconds")
    return int(duration.seconds)
