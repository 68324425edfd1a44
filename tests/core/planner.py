"""An obvious scheduler that meets, in a `PolicyDomain` that may be killed: first-fit on a line of integer instants.

A job is ready if its nodes are there for all of its requested time, beside the slots of others. Nobody is reserved.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cosched.core.allocation import NOT_NOW, Allocation, Refused
from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.domain import Change, PolicyDomain
from cosched.core.effects import Answer, Book, Claim, Quote, Record, Start
from cosched.core.events import (
    Booked,
    Claimed,
    Drained,
    Event,
    Finished,
    MayBeEarlier,
    NodesLost,
    Quoted,
    Ready,
    Resumed,
    Submitted,
    Unlinked,
)
from cosched.core.job import JobState, SlotMoves
from cosched.core.protocol import FOREVER, Request
from tests.core.had import had

from .first_fit import FirstFit, LocalJob, Machine

if TYPE_CHECKING:
    from .slot_world import Attempt, SlotWorld

OUTSIDE = (Submitted, Finished, NodesLost, Unlinked, Drained, Resumed)
QUEUED, READY, HOLDING, RUNNING = JobState.QUEUED, JobState.READY, JobState.HOLDING, JobState.RUNNING


@dataclass
class PlannedJob(LocalJob):
    """A job that has a requested time, and perhaps a slot."""

    requested: int = 0
    slot: int | None = None
    expected: int = 0  # when its nodes are expected back
    ends: int = 0
    early_at: int = -1  # the instant of its last early turn
    proposal: str = ""  # by which its group has started


class Planner(Machine):
    """Nodes, and jobs in order of submission: whoever fits is ready. `later`: outcomes come later, by the world."""

    jobs: dict[str, PlannedJob]

    def __init__(self, nodes: int) -> None:
        super().__init__(nodes)
        self.nodes = nodes
        self.turn: str | None = None
        self.wanted: set[str] = set()
        self.orders: list[Quote | Book | Claim] | None = None  # not None: carried out later

    # The plan

    def earliest(self, job: PlannedJob, after: int, now: int) -> int | None:
        """The first instant from then on at which the job fits, without its own nodes and slot."""
        taken = [span for other in self.jobs.values() if other is not job for span in self._span(other, now)]
        for at in sorted({max(after, now), *(end for _, end, _ in taken if end > max(after, now))}):
            if at < FOREVER and self._fits(job, at, taken):
                return at
        return None

    def _span(self, job: PlannedJob, now: int) -> list[tuple[int, int, int]]:
        if job.state in (READY, RUNNING, HOLDING):
            return [(now, max(job.expected, now + 1), job.nodes)]
        if job.state is QUEUED and job.slot is not None:
            return [(max(job.slot, now), max(job.slot, now) + job.requested, job.nodes)]
        return []

    def _fits(self, job: PlannedJob, at: int, taken: list[tuple[int, int, int]]) -> bool:
        instants = [at, *(start for start, _, _ in taken if at < start < at + job.requested)]
        used = max(sum(nodes for start, end, nodes in taken if start <= instant < end) for instant in instants)
        return used + job.nodes <= self.nodes

    # Who is next

    def next(self, now: int) -> Ready | MayBeEarlier | None:
        if self.turn is not None:
            return None
        for job in self.jobs.values():
            if job.state is not QUEUED or job.passed_over == now:
                continue
            earliest = self.earliest(job, now, now)
            if earliest == now and job.nodes <= self.free:
                self._take(job, now)
                job.state = READY
                return Ready(job.name, Allocation(job.nodes), FOREVER)
            if job.slot is not None and earliest is not None and earliest < job.slot and job.early_at != now:
                job.early_at, self.turn = now, job.name
                return MayBeEarlier(job.name)
        return None

    def _take(self, job: PlannedJob, now: int) -> None:
        self.free -= job.nodes
        job.expected = now + job.requested

    def _run(self, job: LocalJob, now: int) -> None:
        super()._run(job, now)
        job.slot, job.ends = None, now + job.run
        if job.ends > job.expected:  # its RunJob took longer than it has to spare
            job.expected = now + job.requested
        self.due = True

    def hold(self, job: str, now: int, until: int) -> None:
        super().hold(job, now, until)
        self.jobs[job].expected = until + self.jobs[job].requested

    def try_start(self, job: str, now: int, wanted_until: int, start_at: float | None = None) -> Allocation | Refused:  # noqa: ARG002
        tried = self.jobs[job]
        if self.earliest(tried, now, now) != now or tried.nodes > self.free:
            return NOT_NOW
        self._take(tried, now)
        return self.start(job, now)

    def leave(self, job: LocalJob, how: JobState) -> None:
        super().leave(job, how)
        job.slot, self.due = None, True
        self.end_turn(job.name)

    # Slots

    def try_ready(self, job: str, now: int) -> Allocation | Refused:
        tried = self.jobs[job]
        if self.earliest(tried, now, now) != now or tried.nodes > self.free:
            return NOT_NOW
        self._take(tried, now)
        tried.state = READY
        self.end_turn(job)
        return Allocation(tried.nodes)

    def give_back(self, job: str, now: int) -> None:  # noqa: ARG002
        self._free(self.jobs[job])
        self.jobs[job].state, self.due = QUEUED, True

    def want_until(self, job: str, until: int) -> None:
        """Nobody who has a slot holds."""

    def want(self, job: str, wanted: bool) -> None:
        (self.wanted.add if wanted else self.wanted.discard)(job)

    def end_turn(self, job: str) -> None:
        if self.turn == job:
            self.turn, self.due = None, True

    def move_slot(self, job: str, moves: SlotMoves) -> None:
        """No pair has windows."""

    def unbook(self, job: str, now: int) -> None:  # noqa: ARG002
        self.jobs[job].slot, self.due = None, True

    def quote(self, effect: Quote, now: int) -> Quoted | None:
        return None if self._later(effect) else self.outcome(effect, now)

    def book(self, effect: Book, now: int) -> Booked | None:
        return None if self._later(effect) else self.outcome(effect, now)

    def claim(self, effect: Claim, now: int) -> Claimed | None:
        return None if self._later(effect) else self.outcome(effect, now)

    def _later(self, effect: Quote | Book | Claim) -> bool:
        if self.orders is not None:
            self.orders.append(effect)
        return self.orders is not None

    def outcome(self, effect: Quote | Book | Claim, now: int) -> Any:
        if self.orders is not None:
            self.orders.remove(effect)
        job = self.jobs[effect.job]
        waits = job.state in (QUEUED, READY)
        if type(effect) is Quote:
            return Quoted(job.name, self.earliest(job, effect.not_before, now) if waits else None, effect.for_peer)
        if type(effect) is Book:
            at = max(effect.at, now)
            booked = waits and self.earliest(job, at, now) == at
            if booked:
                job.slot, self.due = at, True
            return Booked(job.name, at, effect.generation, had(booked), effect.for_peer)
        claimed = job.state is QUEUED and job.slot is not None and job.slot <= now and job.nodes <= self.free
        if claimed:
            self._take(job, now)
            job.state = READY
            self.end_turn(job.name)
        return Claimed(job.name, had(claimed), effect.for_peer)


class MortalDomain(FirstFit):
    """A domain that records each turn before anything of it leaves, and starts again from what it recorded."""

    machine: Planner
    jobs: dict[str, PlannedJob]
    world: SlotWorld

    def __init__(self, core: Coscheduler, world: SlotWorld, *, later: bool) -> None:
        super().__init__(core, world)
        self.later, self.lives, self.up = later, 0, True
        self.risen = 0  # when its present life began
        self._is_told_again = False
        self.served: dict[Request, Attempt] = {}
        self._under_way: list[Quote | Book | Claim] = []
        self._under_way_until = 0
        self._planned(Planner(core.ledger.nodes))
        self.recorded = self._record()

    def _planned(self, machine: Planner) -> None:
        self.machine, self.jobs = machine, machine.jobs
        machine.orders = [] if self.later else None
        self.domain = PolicyDomain(self.core, machine, timers=self)

    def scan(self) -> None:
        if self.up:
            super().scan()

    def feed(self, event: Event) -> None:
        """As before; what happened outside is told again until it is on record."""
        self._is_told_again = type(event) in OUTSIDE
        super().feed(event)
        self._is_told_again = False

    # What is recorded, and the rest

    def _record(self) -> bytes:
        core = self.core
        known = core.answers.last, core.peers.known, core.ledger.settled_by
        return pickle.dumps((list(core.jobs.values()), known, self.jobs, self.machine.free))

    def _do_all(self, changes: list[Change], exchange: str = "") -> None:
        for change in changes:
            if type(change) is Answer:  # perhaps what comes of an order to the scheduler
                exchange = getattr(change.request, "request_id", exchange)
        for change in changes:
            if type(change) is Record:
                self.world.noted(change, exchange)
        left = [change for change in changes if type(change) is not Record]
        dies = self.world.dies(self)
        if dies and not self._is_told_again and self.world.random.random() < 0.3:  # before it has recorded anything
            self._die()
            return
        self.recorded = self._record()
        for change in left[: self.world.random.randint(0, len(left)) if dies else None]:
            self._do(change, exchange)
        if dies:
            self._die()
            return
        self._carry_out_later()
        if self.machine.due:
            self.machine.due = False
            self.world.at(self.world.now, self.scan)
        self._check()
        self.world.checked(self)

    def _carry_out_later(self) -> None:
        """Have the orders to the scheduler carried out some time, in their order."""
        for order in (self.machine.orders or [])[len(self._under_way) :]:
            self._under_way.append(order)
            last = self._under_way_until = max(self._under_way_until, self.world.now + self.world.random.randint(0, 4))
            self.world.at(last, lambda order=order, life=self.lives: self._outcome(order, life))

    def _do(self, change: Change, exchange: str) -> None:
        if type(change) is Answer:
            self.world.answer_of(self, change)
        else:
            super()._do(change, exchange)

    def _outcome(self, order: Quote | Book | Claim, life: int) -> None:
        if self.up and life == self.lives:
            self._under_way.remove(order)
            self.feed(self.machine.outcome(order, self.world.now))

    def _launch(self, job: LocalJob, exchange: str) -> None:  # noqa: ARG002
        assert isinstance(job, PlannedJob)
        name = job.name
        self.world.launched(name)
        self.world.at(job.ends, lambda: self._ended(name))

    def _ended(self, name: str) -> None:
        if self.up and not self.jobs[name].state.final:
            self.finish(self.jobs[name], Finished(name, JobState.COMPLETED))

    def lose_nodes(self, name: str) -> None:
        job = self.jobs.get(name)
        if self.up and job is not None and job.state in (READY, HOLDING):
            self.machine._free(job)
            self.feed(NodesLost(name))

    def tell(self, event: Event) -> None:
        """Something happens to the domain itself; it is told once it is up."""
        if self.up:
            self.feed(event)
            self.scan()
        else:
            self.world.at(self.world.now + 5, lambda: self.tell(event))

    # Death and life

    def _die(self) -> None:
        self.up, self.lives = False, self.lives + 1
        self._timers.clear()
        self._under_way.clear()
        self.world.died(self)

    def rise(self) -> None:
        """Start again from what was recorded; what runs has gone on."""
        now = self.risen = self.world.now
        old = self.core
        paired, (answers, peers, settled_by), jobs, free = pickle.loads(self.recorded)
        self.core = self.world.core(old.ledger.domain, old.settings)
        self.core.ledger.calls_before = 1000 * self.lives
        self.core.answers.last.update(answers)
        self.core.ledger.settled_by = settled_by
        machine = Planner(old.ledger.nodes)
        machine.jobs, machine.free, machine.due = jobs, free, True
        self._planned(machine)
        self.up = True
        changes: list[Change] = []
        for peer, presence in peers.items():
            changes += self.core.asking.recover_peer(peer, presence)
        for job in paired:
            changes += self.domain.follow(self.core.recover(job, 0, now), now)
            if job.state is JobState.READY:
                machine.ask_again(job.id)  # a scheduler is told of the job only now, as it is
        for job in self.jobs.values():
            if job.state is RUNNING:
                if job.name not in self.world.launches:
                    changes.insert(0, Start(job.name))
                else:
                    self.world.at(max(job.ends, now), lambda name=job.name: self._ended(name))
        self._do_all(changes)

    def _fire(self, key: tuple[str, Any], at: int) -> None:
        if self.up:
            super()._fire(key, at)
