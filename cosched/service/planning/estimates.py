"""How good estimates have been: the first of each job, at each distance from its start, is kept and compared.

A miss counts as a share of the distance. So what is told of another estimate cannot lie before the instant when it was
made, however far ahead the compared ones were.
"""

from __future__ import annotations

from collections import deque

from google.protobuf.duration_pb2 import Duration

from cosched.core.protocol import JobId
from cosched.service.store import Store
from cosched.service.store.records import EstimateRecord
from cosched.v1.explain_pb2 import ESTIMATE_SOURCE_SLOT, Accuracy, Estimate

OWN, TOGETHER = 0, 1  # when a job could start for its own part; when all of its pair or group start
LEADS = (300, 1800, 7200, 28_800, 86_400)  # seconds; estimates are as good as others that were as far ahead
KEPT = 100  # of a kind and distance
LEAST = 5
NEAREST = 60  # seconds; a share of less says nothing
KEEP = 14 * 86_400  # seconds
Key = tuple[int, int]  # kind, distance


class Estimates:
    """The estimates of one domain; belongs to its loop."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pending: dict[JobId, dict[Key, EstimateRecord]] = {}
        self._late: dict[tuple[int, int], deque[float]] = {}  # as shares of the distance
        self._changed: list[EstimateRecord] = []
        self._void: list[JobId] = []
        for record in store.estimates():
            self._take(record)

    def note(self, job: JobId, kind: int, made_at: int, start_at: int) -> None:
        """Somebody expects this start; only the first estimate at each distance counts."""
        lead = _distance(made_at, start_at)
        if (kind, lead) not in self._pending.get(job, ()):
            record = EstimateRecord(int(job), kind, lead, made_at, start_at)
            self._take(record)
            self._changed.append(record)

    def unsettled(self) -> set[JobId]:
        """Return the jobs that were expected to start and are not known to have done so."""
        return set(self._pending)

    def settle(self, job: JobId, kind: int, started_at: int) -> None:
        """Note that the job has started."""
        pending = self._pending.pop(job, {})
        if others := {key: record for key, record in pending.items() if record.kind != kind}:
            self._pending[job] = others
        for record in pending.values():
            if record.kind == kind:
                record.late = started_at - record.start_at
                self._changed.append(record)
                self._take(record)

    def drop(self, job: JobId) -> None:
        """Note that the job will not start, or not as it was expected."""
        if self._pending.pop(job, None) is not None:
            self._void.append(job)

    def write(self, now: int) -> None:
        """Keep all that is new, in a transaction of its own; StoreError."""
        if not self._changed and not self._void:
            return
        with self._store.transaction():
            self._store.save_estimates(self._changed)
            self._store.drop_estimates(map(int, self._void), now - KEEP)
        self._changed.clear()
        self._void.clear()

    def accuracy(self, kind: int, made_at: int, start_at: int) -> Accuracy | None:
        """Return how good estimates of this kind and distance have been; None: too few, or it is too near."""
        ahead = start_at - made_at
        late = sorted(self._late.get((kind, _distance(made_at, start_at)), ()))
        if len(late) < LEAST or ahead < NEAREST:
            return None
        cut = len(late) // 10
        inside = late[cut : len(late) - cut]
        earliest, latest = (Duration(seconds=round(share * ahead)) for share in (inside[0], inside[-1]))
        return Accuracy(earliest=earliest, latest=latest, within=len(inside), of=len(late))

    def _take(self, record: EstimateRecord) -> None:
        if record.late is None:
            self._pending.setdefault(str(record.job), {})[record.kind, record.lead] = record
        elif (ahead := record.start_at - record.made_at) >= NEAREST:
            self._late.setdefault((record.kind, record.lead), deque(maxlen=KEPT)).append(record.late / ahead)


def cut(estimate: Estimate, now: int) -> None:
    """Let a start that is not agreed be expected at `now` (seconds since 1970) at the earliest: it has not happened."""
    if estimate.source == ESTIMATE_SOURCE_SLOT:
        return
    estimate.at.seconds = max(estimate.at.seconds, now)
    if estimate.HasField("accuracy"):
        for bound in (estimate.accuracy.earliest, estimate.accuracy.latest):
            bound.seconds = max(bound.seconds, now - estimate.at.seconds)


def _distance(made_at: int, start_at: int) -> int:
    """Return the number of the first of LEADS that is not exceeded."""
    return next((number for number, lead in enumerate(LEADS) if start_at - made_at <= lead), len(LEADS))
