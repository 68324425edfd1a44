"""A cluster whose pairs start without holding: wanted jobs before their turn, within a budget, and slots."""

from __future__ import annotations

from dataclasses import dataclass

from cosched.core.job import JobState, SlotMoves
from cosched.core.scheduling.batch.cluster import Cluster
from cosched.core.scheduling.batch.kernels import iteration, meeting, slots
from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.compiled import direct
from cosched.core.scheduling.primitives.tables import NEVER, QUEUE, Tables
from cosched.core.scheduling.scheduler import ClusterSettings

AGAIN, MEET, READY = meeting.AGAIN, slots.MEET, JobState.READY  # quick to look up


@dataclass(frozen=True, slots=True)
class Turn:
    """The job whose turn it is: it is ready; or it has a slot, does not fit now, and could be earlier."""

    row: int
    ready: bool


class MeetingCluster(Cluster):
    """Domain `index` of the tables, which meets."""

    def __init__(self, tables: Tables, index: int, settings: ClusterSettings) -> None:
        super().__init__(tables, index, settings)
        self._ask, self._arrange, self._pushes = direct(slots.ask), direct(meeting.arrange), direct(meeting.pushes)
        self._awaits = direct(iteration.awaits)

    def meet(self, now: int) -> Turn | None:
        """Go on with the iterations at `now` until a job's turn that needs an answer."""
        row = NONE if self._awaits(self.tables, self.index) else AGAIN
        while row == AGAIN:
            if self._record["changed"]:
                self._arrange(self.tables, self.index, now)
            row = self._ask(self.tables, self.index, MEET, NONE, now, now)
        return None if row == NONE else Turn(int(row), self._state(row) == READY)

    def start(self, row: int, now: int) -> None:
        """Start a job that has nodes (ready or holding)."""
        self.unbook(row)
        super().start(row, now)
        if self._record["marked"]:
            self.reschedule()  # another iteration may have another first job, or other slots

    def try_start(self, row: int, now: int, wanted_until: int) -> bool:
        """TryStartMate: the job is wanted for good; start it if an iteration run now would."""
        self._arrange(self.tables, self.index, now)
        return bool(self._ask(self.tables, self.index, slots.TRY, row, wanted_until, now))

    def try_ready(self, row: int, now: int) -> bool:
        """Make a queued job ready if an iteration run now would start it; it is wanted for good."""
        self._arrange(self.tables, self.index, now)
        wanted_until = int(self.tables.marks[row]["wanted_until"])
        return bool(self._ask(self.tables, self.index, slots.TRY_READY, row, wanted_until, now))

    def want(self, row: int, wanted: bool = True) -> None:
        """Note whether its mate has asked for this job, be it before its submission."""
        self.tables.slots[row]["wanted"] = wanted
        self._record["marked"] = 1

    def front(self, now: int) -> int | None:
        """The row of the queue's first job, if it has been ready or has a slot: wanted jobs have no limit then."""
        self._arrange(self.tables, self.index, now)
        base = int(self._record["base"])
        queue = self.tables.lists[QUEUE, base : base + int(self._record["queued"])]
        row = next((row for row in queue.tolist() if row != NONE), NONE)
        mark = self.tables.slots[row]
        return row if row != NONE and (mark["been_ready"] or mark["slot"]) else None

    def keep_in_turn(self, row: int, in_turn: bool) -> None:
        """Note whether the job starts in its turn only, though it is wanted."""
        self.tables.slots[row]["in_turn"] = in_turn

    def pushes(self, row: int, now: int, *, tried: bool) -> int | None:
        """By how many seconds the start of a job before its turn pushes the first job; None: it is its turn.

        To be asked as soon as the job is ready, or was `tried` and has started.
        """
        view = len(self.tables.domains) - 1 if tried else self.index
        pushed = int(self._pushes(self.tables, view, row, now))
        return None if pushed == NONE else pushed

    def quote(self, row: int, not_before: int, now: int) -> int | None:
        """Return the earliest instant from `not_before` on at which a job could start by the plan; None: never.

        At the job's own turn, ready or not, that is the plan of the open iteration. Any other job must be queued, and
        has its place in the order of the queue: it delays no reservation of those before it.
        """
        self._arrange(self.tables, self.index, now)
        at = int(self._ask(self.tables, self.index, slots.QUOTE, row, not_before, now))
        return at if at < NEVER else None

    def book(self, row: int, at: int, now: int) -> bool:
        """Give a job the slot `at` instead of any that it has; False: that is not (any more) what it is quoted."""
        self._arrange(self.tables, self.index, now)
        return bool(self._ask(self.tables, self.index, slots.BOOK, row, at, now))

    def move_slot(self, row: int, moves: SlotMoves) -> None:
        """Note when the slot that the job has may become an earlier one."""
        self.tables.slots[row]["moves"] = moves

    def unbook(self, row: int) -> None:
        """Take a job's slot from it, if it has any; others may have its place."""
        if self.slot(row) is not None:
            self._ask(self.tables, self.index, slots.UNBOOK, row, 0, 0)
            self.reschedule()

    def slot(self, row: int) -> int | None:
        """Return the job's slot."""
        return int(self.tables.slots[row]["slot"]) - 1 if self.tables.slots[row]["slot"] else None

    def claim(self, row: int, now: int) -> bool:
        """Make a queued job ready on the nodes of its slot; False: it has none, that is not due, or they are not free.

        The job keeps the slot until it starts. If it is passed over instead, the slot is planned again.
        """
        return bool(self._ask(self.tables, self.index, slots.CLAIM, row, now, now))
