"""One domain that meets, slow and obvious: every plan is made from scratch, and looked at second by second."""

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple

Turn = Callable[[int, int | None], None]  # row; the block on which it is ready, None: it could be before its slot


@dataclass
class Job:
    """A job of the trace, and what is known of it; `slot` is (instant, first unit)."""

    row: int
    submit: int
    nodes: int
    requested: int
    run: int
    paired: bool
    state: str = "pending"
    start: int = -1
    block: int = -1
    wanted: bool = False
    in_turn: bool = False  # its owner's share is used up
    been_ready: bool = False
    guard: int | None = None
    slot: tuple[int, int] | None = None
    yielded_at: int = -1
    claimed: tuple[int, int] | None = None  # since when, and on which block, it is ready at its slot


class Place(NamedTuple):
    """Nodes that are not to be had from `start` to `end`."""

    block: int
    nodes: int
    start: int
    end: int


@dataclass
class Iteration:
    """What one iteration has planned; `sought`: the job that a dry run looks for; `before_turn`: in the wanted pass."""

    now: int
    sought: Job | None
    dry: bool
    places: list[Place] = field(default_factory=list)
    reserved: Job | None = None
    reserved_place: Place | None = None
    head: Job | None = None
    had_turn: Job | None = None  # the first job, if it fitted before the wanted ones had their turn
    before_turn: bool = False
    over: bool = False
    gone: set[int] = field(default_factory=set)  # started in thought


def place_of(job: Job, block: int, start: int) -> Place:
    """The job from then on."""
    return Place(block, job.nodes, start, start + job.requested)


class SlowDomain:
    """A queue, first come first served, on `nodes` nodes (or, if they are `units`, aligned blocks of them)."""

    def __init__(self, nodes: int, units: bool, backfill: str, budget: str, jobs: list[Job]) -> None:
        self.nodes, self.units, self.backfill, self.jobs = nodes, units, backfill, jobs
        self.budget = Decimal(budget)
        self.changed = False
        self.open: Iteration | None = None
        self.turn_of: Job | None = None
        self.ready_on: int | None = None
        self.pushed: int | None = None  # by the job that is ready now, or is found by a dry run

    # Places

    def plan(self, iteration: Iteration, without: Job | None = None) -> list[Place]:
        """All that is taken: by those who run, by slots, by what the iteration has planned."""
        running = [place_of(job, job.block, job.start) for job in self.jobs if job.state == "running"]
        claimed = [place_of(job, job.claimed[1], job.claimed[0]) for job in self.jobs if job.claimed]
        slots = [
            place_of(job, job.slot[1], job.slot[0])
            for job in self.jobs
            if job.state == "queued" and job.slot and job is not without
        ]
        return running + claimed + slots + iteration.places

    def block_at(self, plan: list[Place], job: Job, at: int, beside: Place | None = None) -> int | None:
        """The lowest block on which the job fits then; if there is one, clear of `beside`."""
        if not self.units:
            busy = (sum(p.nodes for p in plan if p.start <= t < p.end) for t in range(at, at + job.requested))
            return 0 if max(busy) + job.nodes <= self.nodes else None
        wanted = place_of(job, 0, at)
        plan = [p for p in plan if p.start < wanted.end and at < p.end]
        firsts = range(0, self.nodes - job.nodes + 1, job.nodes)
        blocks = [first for first in firsts if not any(_overlap(first, job.nodes, p) for p in plan)]
        clear = [first for first in blocks if not (beside and _overlap(first, job.nodes, beside))]
        return (clear or blocks or [None])[0]

    def earliest(self, plan: list[Place], job: Job, at: int) -> Place:
        """The first place from then on."""
        while (block := self.block_at(plan, job, at)) is None:
            at += 1
        return place_of(job, block, at)

    # An iteration

    def iterate(self, now: int, turn: Turn) -> None:
        """Iterate until nothing changes; `turn` answers each paired job whose turn it is."""
        while self.changed:
            self.changed = False
            self.open = Iteration(now, None, dry=False)
            self.run(self.open, turn)
            self.open = self.turn_of = None

    def queue(self, iteration: Iteration) -> list[Job]:
        """The queue less those that have yielded at this instant, or started in thought."""
        return [
            job
            for job in self.jobs
            if job.state == "queued" and (job.yielded_at != iteration.now or job is iteration.sought)
        ]

    def run(self, iteration: Iteration, turn: Turn) -> None:
        order = self.queue(iteration)
        if self.budget > 0 and any(job.wanted for job in order[1:]):
            iteration.head = head = order[0]
            limit = None
            fits = self.block_at(self.plan(iteration, without=head), head, iteration.now) is not None
            if fits or head.slot or head.been_ready:
                if fits or head.slot:
                    iteration.had_turn = head if fits else None
                    self.have_turn(iteration, head, turn)
            else:
                limit = self.limit(iteration, head)
            self.pass_of_wanted(iteration, order, limit, turn)
        for job in order:
            still = job.state == "queued" and job.row not in iteration.gone
            passed = job.yielded_at == iteration.now and job is not iteration.sought
            if still and not passed and job is not iteration.had_turn and not iteration.over:
                self.have_turn(iteration, job, turn, reserves=True)

    def limit(self, iteration: Iteration, head: Job) -> int:
        """Up to when the first job may be pushed."""
        s = self.earliest(self.plan(iteration), head, iteration.now).start
        latest = s + int(self.budget * (s - head.submit))
        guard = latest if head.guard is None else head.guard
        if not iteration.dry:
            head.guard = guard
        return min(max(guard, s), latest)

    def head_place(self, iteration: Iteration) -> Place | None:
        """Where the first job would be, if it still waits."""
        if iteration.head is None or iteration.had_turn or iteration.head.slot:
            return None
        return self.earliest(self.plan(iteration), iteration.head, iteration.now)

    def pass_of_wanted(self, iteration: Iteration, order: list[Job], limit: int | None, turn: Turn) -> None:
        """Wanted jobs before their turn."""
        for job in order:
            sought = iteration.sought in (None, job)
            out = job is iteration.head or not job.wanted or job.slot or job.in_turn or job.state != "queued"
            if out or not sought:
                continue
            block = self.block_at(self.plan(iteration), job, iteration.now, self.head_place(iteration))
            if block is None:
                continue
            with_it = [*self.plan(iteration), place_of(job, block, iteration.now)]
            if limit is None or self.earliest(with_it, iteration.head, iteration.now).start <= limit:
                iteration.before_turn = True
                self.is_ready(iteration, job, block, turn)
                iteration.before_turn = False

    def have_turn(self, iteration: Iteration, job: Job, turn: Turn, reserves: bool = False) -> None:
        plan = self.plan(iteration, without=job)
        beside = iteration.reserved_place if self.backfill == "easy" else None
        block = self.block_at(plan, job, iteration.now, beside)
        if block is not None:
            self.is_ready(iteration, job, block, turn)
        elif job.slot and not iteration.dry and self.earliest(plan, job, iteration.now).start < job.slot[0]:
            self.turn_of, self.ready_on = job, None
            turn(job.row, None)
        elif reserves and not job.slot:
            self.reserve(iteration, job)
            iteration.over = self.backfill == "none"

    def reserve(self, iteration: Iteration, job: Job) -> None:
        """A job that does not fit has its earliest place."""
        if self.backfill == "conservative" or iteration.reserved is None:
            iteration.reserved = job
            iteration.reserved_place = self.earliest(self.plan(iteration), job, iteration.now)
            iteration.places.append(iteration.reserved_place)

    def is_ready(self, iteration: Iteration, job: Job, block: int, turn: Turn) -> None:
        """RunJob: an unpaired job starts."""
        self.pushed = self.push(iteration, job, block) if iteration.before_turn else None
        if iteration.dry and job is iteration.sought:
            turn(job.row, block)
        elif not job.paired and iteration.dry:
            iteration.places.append(place_of(job, block, iteration.now))
            iteration.gone.add(job.row)
        elif not job.paired:
            self.start(job, block, iteration.now)
        elif not iteration.dry:
            job.been_ready = True
            self.turn_of, self.ready_on = job, block
            turn(job.row, block)

    def push(self, iteration: Iteration, job: Job, block: int) -> int:
        """How much later the first job could be if this one started."""
        before = self.head_place(iteration)
        if before is None:
            return 0
        with_it = [*self.plan(iteration), place_of(job, block, iteration.now)]
        return self.earliest(with_it, iteration.head, iteration.now).start - before.start

    def pushes(self, row: int, now: int, *, tried: bool = False) -> int | None:  # noqa: ARG002
        """By how many seconds the job, which is ready or was found just now, pushes the first; None: in its turn."""
        return self.pushed

    def keep_in_turn(self, row: int, in_turn: bool) -> None:
        """Whether the share of the job's owner is used up."""
        self.jobs[row].in_turn = in_turn

    # What peers ask, and what becomes of jobs

    def try_start(self, row: int, now: int) -> bool:
        job = self.jobs[row]
        job.wanted = True
        found: list[tuple[int, int | None]] = []
        if job.state == "queued":
            self.run(Iteration(now, job, dry=True), lambda _, block: found.append((block, self.pushed)))
        if found:
            block, self.pushed = found[0]
            self.start(job, block, now)
        return bool(found)

    def quote(self, row: int, not_before: int, now: int) -> tuple[int, int] | None:
        """The earliest instant, and its block."""
        job, at = self.jobs[row], max(not_before, now)
        if job.state != "queued":
            return None
        if self.open and job is self.turn_of:
            plan = self.plan(self.open, without=job)
            if self.open.before_turn and (place := self.head_place(self.open)):
                plan.append(place)
            if at == now and self.ready_on is not None and self.fits_on(plan, job, self.ready_on, now):
                return now, self.ready_on
            place = self.earliest(plan, job, at)
        else:
            place = self.earliest(self.plan_before(job, now), job, at)
        return place.start, place.block

    def fits_on(self, plan: list[Place], job: Job, block: int, at: int) -> bool:
        """Whether the job fits on this block then."""
        others = Place(0, block, at, at + 1), Place(block + job.nodes, self.nodes, at, at + 1)
        return self.block_at([*plan, *(others if self.units else ())], job, at) is not None

    def plan_before(self, job: Job, now: int) -> list[Place]:
        """The plan after a dry run up to the job."""
        iteration = Iteration(now, job, dry=True)
        slot, job.slot = job.slot, None
        for other in self.queue(iteration):
            if other is job:
                break
            if other.slot:
                continue
            beside = iteration.reserved_place if self.backfill == "easy" else None
            block = self.block_at(self.plan(iteration), other, now, beside)
            if block is None:
                self.reserve(iteration, other)
            elif not other.paired and not (iteration.reserved and self.backfill == "none"):
                iteration.places.append(place_of(other, block, now))
        plan = self.plan(iteration)
        job.slot = slot
        return plan

    def book(self, row: int, at: int, now: int) -> bool:
        """Give the job a slot."""
        quoted = self.quote(row, at, now)
        if quoted is None or quoted[0] != at:
            return False
        self.jobs[row].slot = quoted
        self.changed = True
        return True

    def unbook(self, row: int) -> None:
        """The job has no slot any more."""
        self.changed |= self.jobs[row].slot is not None
        self.jobs[row].slot = None

    def claim(self, row: int, now: int) -> bool:
        """The job is ready at its slot."""
        job = self.jobs[row]
        if job.state != "queued" or job.slot is None or job.slot[0] > now:
            return False
        running = [place_of(other, other.block, other.start) for other in self.jobs if other.state == "running"]
        claimed = [place_of(other, other.claimed[1], other.claimed[0]) for other in self.jobs if other.claimed]
        busy = [place._replace(end=now + 1) for place in running + claimed]  # until they end, whenever that is
        if not self.fits_on(busy, job, job.slot[1], now):
            return False
        job.state, job.claimed = "ready", (now, job.slot[1])
        return True

    def submit(self, row: int) -> None:
        """The job is queued."""
        self.jobs[row].state = "queued"
        self.changed = True

    def end(self, row: int, now: int) -> None:  # noqa: ARG002
        """The job ends."""
        self.jobs[row].state = "ended"
        self.changed = True

    def run_job(self, row: int, now: int) -> None:
        """The ready job starts."""
        job = self.jobs[row]
        self.start(job, job.claimed[1] if job.claimed else self.ready_on, now)

    def pass_over(self, row: int, now: int) -> None:
        """The ready job yields."""
        job = self.jobs[row]
        job.yielded_at = now
        if job.claimed:
            self.submit(row)
            job.claimed = None

    def running(self) -> dict[int, tuple[int, int]]:
        """Start and block of the jobs that run."""
        return {job.row: (job.start, job.block) for job in self.jobs if job.state == "running"}

    def slot(self, row: int) -> tuple[int, int] | None:
        """Instant and block of the job's slot."""
        return self.jobs[row].slot

    def start(self, job: Job, block: int, now: int) -> None:
        """The job runs from now on."""
        job.state, job.start, job.block, job.slot, job.claimed = "running", now, block, None, None
        self.changed = True


def _overlap(first: int, count: int, place: Place) -> bool:
    return first < place.block + place.nodes and place.block < first + count
