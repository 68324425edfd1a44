"""The world of `offered_world`, in which pairs meet: resource managers that give slots, as Slurm does by reservations.

Slots outlive a domain. A job that has one is offered there only, from its instant on, and others run beside it.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

from cosched.core.effects import Book, Claim, EndTurn, Quote, Try, Unbook
from cosched.core.scheduling.external import ExternalScheduler
from cosched.core.scheduling.external_meeting import ExternalSettings
from cosched.service.domain.changes import Order
from cosched.service.domain.offered_slots import OfferedSlots
from tests.service.meeting_world import MeetingWorld
from tests.service.offered_world import NODES, OFFERED, QUEUED, RUNNING, Job, SlurmNode, SlurmOutside

SPARE = 5  # seconds that a job asks for and does not run
CLAIM_PATIENCE = 2  # seconds
Span = tuple[int, int, int]  # nodes, from when, to when


class SlotNode(SlurmNode):
    """One domain and its resource manager, which gives slots if the domain has any."""

    meeting: OfferedSlots | None = None

    def begin(self) -> None:
        if not hasattr(self, "slots"):
            self.slots: dict[str, tuple[int, int]] = {}  # generation and instant
            self.began_at: dict[str, int] = {}
            self.asks: dict[str, int] = {}  # jobs that ask for another time than most
        super().begin()

    def _scheduler(self) -> ExternalScheduler:
        if not self.settings.slots:
            return super()._scheduler()
        return ExternalScheduler(ExternalSettings(NODES, mate_budget=Decimal("0.5"), slots=True))

    def _outside(self) -> SlurmOutside:
        return SlotOutside(self, self.lives) if self.settings.slots else super()._outside()

    def _recovered(self) -> None:
        """As `SlotOrders.take_up` does."""
        if not self.settings.slots:
            return
        self.meeting = OfferedSlots(self.domain, self.domain.scheduler)
        known = {job: (slot.generation, slot.at) for job, slot in self.meeting.on_record().items()}
        self.slots = {job: slot for job, slot in self.slots.items() if known.get(job) == slot}
        for job, slot in known.items():
            if job not in self.slots and job in self.slurm:
                self.book(self.slurm[job], *slot)

    def run_for(self, job: int, seconds: int) -> None:
        known = self.slurm[str(job)]
        self.asks[known.id] = self.limit(known)
        known.run = seconds

    def check_over(self) -> None:
        """No slot is left in the plan."""
        super().check_over()
        assert not self.slots

    # The plan

    def limit(self, job: Job) -> int:
        """Seconds that a job asks for."""
        return self.asks.get(job.id, job.run + SPARE)

    def earliest(self, job: Job, not_before: int) -> int:
        """When the job fits, beside all that has nodes or a slot."""
        taken, first = list(self._taken(job)), max(not_before, self.world.now)
        instants = sorted({first, *(end for _, _, end in taken if end > first)})
        return next(at for at in instants if self._fits(job, at, taken))

    def _taken(self, own: Job) -> Iterator[Span]:
        now = self.world.now
        for job in self.slurm.values():
            if job is own:
                continue
            if job.state in (OFFERED, RUNNING):
                yield job.nodes, now, max(now + 1, self.began_at.get(job.id, now) + self.limit(job))
            elif job.state == QUEUED and job.id in self.slots:
                at = max(now, self.slots[job.id][1])
                yield job.nodes, at, at + self.limit(job)

    def _fits(self, job: Job, at: int, taken: list[Span]) -> bool:
        until = at + self.limit(job)
        instants = [at, *(start for _, start, _ in taken if at < start < until)]
        used = max(sum(nodes for nodes, start, end in taken if start <= instant < end) for instant in instants)
        return used + job.nodes <= NODES

    def fits_now(self, job: Job) -> bool:
        """Whether the manager would choose the job now."""
        if job.id in self.slots:
            return self.slots[job.id][1] <= self.world.now and self.used + job.nodes <= NODES
        return self.earliest(job, 0) == self.world.now

    # Slots

    def book(self, job: Job, generation: int, at: int) -> bool:
        """Give the job a slot instead of any that it has."""
        if job.state not in (QUEUED, OFFERED) or self.earliest(job, at) > max(at, self.world.now):
            return False
        self.slots[job.id] = generation, at
        if at <= self.world.now:
            job.eligible_at = 0
        self.world.at(max(at, self.world.now), self.schedule)
        return True

    # What becomes of jobs

    def _run(self, job: Job) -> None:
        self.slots.pop(job.id, None)
        self.began_at[job.id] = self.world.now
        super()._run(job)

    def _complete(self, job: Job) -> None:
        self.slots.pop(job.id, None)
        super()._complete(job)
        if self.meeting is not None:
            self.guarded(lambda: self.meeting.freed())


class SlotOutside(SlurmOutside):
    """What such a domain does outside: the orders about a job's slot are carried out one after another."""

    node: SlotNode

    def __init__(self, node: SlotNode, life: int) -> None:
        super().__init__(node, life)
        self._slot_orders: defaultdict[str, deque[Order]] = defaultdict(deque)

    def order(self, order: Order) -> None:
        if type(order) not in _SLOT_ORDERS:
            super().order(order)
            return
        self.node.may_die()
        waiting = self._slot_orders[order.job]
        waiting.append(order)
        if len(waiting) == 1:
            self._carry_out_soon(order)

    def _carry_out_soon(self, order: Order) -> None:
        act = _SLOT_ORDERS[type(order)]
        self.later(self.world.now + self.world.random.randint(0, 1), lambda: act(self, order))

    def _done(self, order: Order) -> None:
        waiting = self._slot_orders[order.job]
        waiting.popleft()
        if waiting:
            self._carry_out_soon(waiting[0])

    def _quote(self, order: Quote) -> None:
        at = self.node.earliest(self.node.slurm[order.job], order.not_before)
        self._done(order)
        self.node.meeting.quoted(order, at)

    def _book(self, order: Book) -> None:
        awaited = self.node.meeting.meeting.awaits(order)
        booked = awaited and self.node.book(self.node.slurm[order.job], order.generation, order.at)
        self._done(order)
        self.node.meeting.booked(order, booked)

    def _unbook(self, order: Unbook) -> None:
        self.node.slots.pop(order.job, None)
        self._done(order)
        self.node.schedule()

    def _claim(self, order: Claim) -> None:
        node, job = self.node, self.node.slurm[order.job]
        if job.state == QUEUED and (job.id in node.slots or node.book(job, 0, self.world.now)):
            job.eligible_at = 0
            node.schedule()
            self.later(self.world.now + CLAIM_PATIENCE, lambda: self._claimed(order, job))
        else:
            self._claimed(order, job)

    def _claimed(self, order: Claim, job: Job) -> None:
        self._done(order)
        self.node.meeting.claimed(order, job.offer if job.state == OFFERED else 0)

    def _try(self, order: Try) -> None:
        if self.node.meeting.has_slot(order.job):
            self.later(self.world.now, lambda: self.node.offered.tried(order.job, 0))
        else:
            super()._try(order)


_SLOT_ORDERS: dict[type, Callable[[SlotOutside, Any], None]] = {
    Quote: SlotOutside._quote, Book: SlotOutside._book, Unbook: SlotOutside._unbook, Claim: SlotOutside._claim,
    EndTurn: SlotOutside._done,
}  # fmt: skip


class SlotWorld(MeetingWorld):
    """Domains a and b, whose managers schedule, and give slots if the domains have any."""

    node_kind = SlotNode

    def _look_at_groups(self) -> None:
        """Orders take a while."""
