"""Jobs whose size may change while they run: what their scheduler gives to them, what they were told, what they use.

The scheduler counts with a new size at once (`nodes`). Its manager takes nodes away only once the job has said that it
does not use them any more, and gives nodes to it before it is told of them. So of what a job was told, and has not
acknowledged, nothing is ever another one's. All of it is on record before the job hears of it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

from cosched.core.allocation import Allocation, SizeChanged
from cosched.core.protocol import EndedBy, JobId
from cosched.schedulers.column import LEAST_NODES
from cosched.schedulers.kind import SchedulerKind
from cosched.service.domain.malleable import least_of, said_of
from cosched.service.domain.predictions import Prediction, as_kept, as_told
from cosched.service.domain.records import Records
from cosched.service.domain.story import Noted
from cosched.service.store import JobRecord


class Iterations(NamedTuple):
    """How long the iterations of a job take on its present nodes, as it says: seconds, means over `number` of them."""

    number: int
    exec_time: float
    exec_time_comp: float
    exec_time_comm: float


@dataclass(slots=True)
class Sizing:
    """What is on record of a running job."""

    names: list[str] = field(default_factory=list)  # the set that it was told last, or was started on; empty: not yet
    generation: int = 0  # the number of this set
    acknowledged: int = 0  # the number of the last one that it has acknowledged
    using: int = 0  # the number of nodes in the latter; 0: it has not been launched yet
    told_at: int | None = None  # when it was told, or was told again; None: no answer is awaited
    reminders: int = 0  # how often it was told again

    @property
    def settled(self) -> bool:
        """Whether the job uses the set that it was told."""
        return self.acknowledged == self.generation


def sizing_of(record: JobRecord) -> Sizing | None:
    """Return what is on record of a job whose size may change; None: it is rigid, or was not started."""
    return None if record.sizing is None else Sizing(**json.loads(record.sizing))


def as_text(value: Sizing) -> str:
    """Return it as a record keeps it."""
    return json.dumps(asdict(value))


class Sizes:
    """The sizes of a domain's jobs. They change only in a turn."""

    def __init__(self, records: Records, kind: SchedulerKind) -> None:
        self._records, self._kind = records, kind
        # What running jobs tell of their iterations; in memory only, as it changes often, and is told again soon
        self.measured: dict[JobId, Iterations] = {}
        self._predicted: dict[JobId, tuple[Prediction, ...]] = {}  # what they predict, as read or told last

    def of(self, job: JobId) -> Sizing | None:
        """Return what is on record of this job; None: it is rigid, does not run, or is not known."""
        record = self._records.jobs.get(job)
        return None if record is None else sizing_of(record)

    def predicted(self, record: JobRecord) -> tuple[Prediction, ...]:
        """Return what a running job predicts of its sizes, from its least to its ideal; empty: nothing."""
        if record.predictions is None:
            return ()
        job = str(record.id)
        if job not in self._predicted:
            self._predicted[job] = as_told(record.predictions)
        return self._predicted[job]

    def forget(self, job: JobId) -> None:
        """Note that the job has ended."""
        self.measured.pop(job, None)
        self._predicted.pop(job, None)

    def predict(self, job: JobId, predictions: Sequence[Prediction]) -> None:
        """Note that a running job tells what it predicts of its sizes."""
        record = self._records.jobs[job]
        record.predictions, self._predicted[job] = as_kept(predictions), tuple(predictions)
        self._records.journal.save(record)
        ends = {"on_least": predictions[0].exec_time, "on_ideal": predictions[-1].exec_time}
        self._note(job, Noted.PREDICTS, least=least_of(record), ideal=record.nodes, **ends)

    def begin(self, job: JobId, allocation: Allocation) -> None:
        """Note that a job starts on this."""
        record = self._records.jobs[job]
        if LEAST_NODES in said_of(record):
            self._save(record, Sizing())
            self._note(job, Noted.ALLOCATED, nodes=allocation.nodes, ideal=record.nodes)
        scheduler = self._records.scheduler
        if scheduler.capabilities.molds and (why := self._kind.sized(scheduler.job(job))):
            self._note(job, Noted.SIZED, nodes=allocation.nodes, best=record.nodes, why=why)

    def change(self, resized: SizeChanged) -> None:
        """Note that the scheduler has changed the size of a running job."""
        job, allocation, gave_to, more = resized.job, resized.allocation, resized.gave_to, resized.more
        if job not in self._records.jobs:
            return
        if gave_to is not None:
            self._note(job, Noted.HARVESTED, nodes=allocation.nodes, fewer=-more, to=gave_to)
            self._note(gave_to, Noted.GETS_OF, more=-more, of=job)
        else:
            self._note(job, Noted.GIVEN, nodes=allocation.nodes, more=more)

    def tell(self, job: JobId, names: Sequence[str], *, at_start: bool = False) -> None:
        """The job is told to use these nodes, and no others; `at_start`: they are those that it was started on."""
        record = self._records.jobs[job]
        sizing = sizing_of(record)
        assert sizing is not None
        sizing.names = [*names]
        if at_start:
            sizing.using = len(names)
        else:
            sizing.generation += 1
            sizing.told_at, sizing.reminders = self._records.journal.now, 0
        self._save(record, sizing)

    def acknowledge(self, job: JobId, generation: int) -> None:
        """Note that the job uses the set of this number, and no other nodes. Only the last set counts."""
        record = self._records.jobs[job]
        sizing = sizing_of(record)
        if sizing is None or sizing.settled or generation != sizing.generation:
            return
        sizing.acknowledged, sizing.using, sizing.told_at = generation, len(sizing.names), None
        self._save(record, sizing)
        self._note(job, Noted.ADAPTED, nodes=len(sizing.names), generation=generation)

    def remind(self, job: JobId, *, last: bool, why: str) -> None:
        """The job has not answered in time: it is told again, or, if this is the `last` time, not any more."""
        record = self._records.jobs[job]
        sizing = sizing_of(record)
        assert sizing is not None
        sizing.reminders += 1
        sizing.told_at = None if last else self._records.journal.now
        self._save(record, sizing)
        self._note(job, Noted.NOT_ADAPTED, nodes=len(sizing.names), why=why)

    def end(self, job: JobId, by: str) -> None:
        """End the job, as it does not answer."""
        self._records.order_cancellation(self._records.jobs[job], by, EndedBy.ITSELF)

    def _save(self, record: JobRecord, sizing: Sizing) -> None:
        record.sizing = as_text(sizing)
        self._records.journal.save(record)

    def _note(self, job: JobId, what: Noted, **detail: object) -> None:
        self._records.journal.note(job, what, **detail)
