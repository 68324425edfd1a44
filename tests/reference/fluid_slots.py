"""Quotes, bookings and slots of one fluid domain, slow and obvious: docs/fluid.md, Slots. Comments quote that page.

It is what a scheduler does by itself: who has a mate does not start at its turn, but at its slot. It shares nothing
with the product.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

from .fluid import Job, Machine, Rules

FOREVER = 1 << 40


class Slots(Machine):
    """A machine whose jobs are told to it; those in `paired` wait for mates, and are booked in `slots`."""

    def __init__(self, nodes: int, jobs: list[Job], rules: Rules, paired: set[int]) -> None:
        super().__init__(nodes, jobs, rules)
        self.to_come, self.paired = [], paired
        self.slots: dict[int, int] = {}  # by number
        self.passed_over: set[int] = set()  # at this instant
        self.ready: Job | None = None  # while its mate is asked

    # What happens

    def enter(self, now: int) -> None:
        self.now = now
        self.passed_over.clear()

    def submit(self, job: Job) -> None:
        self.queue.append(job)

    def end(self, job: Job) -> None:
        self.running.remove(job)
        self.avail += job.procs
        self.version += 1

    def iterate(self, ask: Callable[[Job], None]) -> None:
        """One iteration; `ask` is called while a job is ready that has a mate, which then yields."""

        def starts(job: Job) -> bool:
            if job.number not in self.paired:
                return True
            self.make_ready(job)
            ask(job)
            self.give_back()
            return False

        self._iterate(starts)

    def _iterate(self, starts: Callable[[Job], bool]) -> None:
        """One iteration; a job that has its turn and does not start is passed over."""
        while (job := self._head()) is not None and len(self.running) < self.rules.level:
            if self._can_be_had(job) and self.keeps(job):
                self._turn(job, starts)
            elif not self._may_be_left_out(job):
                break
        if self.rules.favor_running:
            self.give()
        while (job := self._head()) is not None:
            if self.avail >= job.least and self.keeps(job):
                self._turn(job, starts)
            elif not self._may_be_left_out(job):
                break
        self.give()

    def _head(self) -> Job | None:
        left = [job for job in self.queue if job.number not in self.passed_over]
        return min(left, key=lambda job: job.number, default=None)

    def _may_be_left_out(self, job: Job) -> bool:
        # "A booked job does not block the queue."
        if job.number not in self.slots:
            return False
        self.passed_over.add(job.number)
        return True

    def _turn(self, job: Job, starts: Callable[[Job], bool]) -> None:
        if not starts(job):
            self.passed_over.add(job.number)
            return
        if self.avail < job.least:
            assert self.harvest(job)
        self.start(job, min(self.avail, job.ideal))

    def _can_be_had(self, job: Job) -> bool:
        return self.avail >= job.least or self.plan_harvest(job) is not None

    def start(self, job: Job, procs: int) -> None:
        self.slots.pop(job.number, None)
        super().start(job, procs)

    def start_booked(self) -> list[Job]:
        """Start the jobs whose slots have come: "at its slot, before the iteration, a booked job starts"."""
        due = [job for job in self.queue if self.slots.get(job.number, FOREVER) <= self.now]
        for job in sorted(due, key=lambda job: job.number):
            self._start_at_slot(job)
        return due

    def _start_at_slot(self, job: Job) -> None:
        # "by harvest if need be: whatever level and control say, and if the policy's candidates have too little, from
        # all running jobs"
        if not self._can_be_had(job):
            for other, procs in zip(self.running, self.plan(self.running, job.least - self.avail, -1), strict=True):
                if procs != other.procs:
                    other.harvests += 1
                    self.resize(other, procs)
        elif self.avail < job.least:
            assert self.harvest(job)
        self.start(job, min(self.avail, job.ideal))

    # Bookings

    def keeps(self, job: Job) -> bool:
        """Say whether all booked jobs could still be had if this one started now."""
        return self._fits(dict(self.slots), starting=job)

    def can_book(self, job: Job, at: int) -> bool:
        return self._fits({**self.slots, job.number: at})

    def _fits(self, slots: dict[int, int], starting: Job | None = None) -> bool:
        # "An instant is booked only if the job's `min` and the `min` of all others that may run at that instant fit on
        # the machine. Later starts must leave that so."
        spans = [(self.now, self.end_on_least(job), job.least) for job in self.running]
        if starting is not None:
            slots.pop(starting.number, None)
            spans.append((self.now, self.end_if_started(starting, self.now), starting.least))
        begins = [max(at, self.now) for at in slots.values()]
        for number, begin in zip(slots, begins, strict=True):
            job = self.jobs[number]
            spans.append((begin, self.end_if_started(job, begin), job.least))
        return all(sum(least for begin, end, least in spans if begin <= at < end) <= self.nodes for at in begins)

    def end_on_least(self, job: Job) -> int:
        # "running jobs that would not have ended by then on their `min`". "Jobs whose resizes cost something count as
        # running at every later instant"
        if job.fixed or job.data:
            return FOREVER
        shrunk = replace(job, sizes=[])
        shrunk.resize(self.now, job.least)
        return shrunk.end()

    def end_if_started(self, job: Job, at: int) -> int:
        if job.fixed or job.data:
            return FOREVER
        return replace(job, procs=job.least, left=job.work(), since=at, resume=at).end()

    def book(self, job: Job, at: int) -> bool:
        booked = self.can_book(job, max(at, self.now))
        if booked:
            self.slots[job.number] = max(at, self.now)
        return booked

    # Quotes

    def quote(self, job: Job, not_before: int) -> int | None:
        """Return the first instant from the one at which iterations start it that can be booked."""
        first = deepcopy(self).first_start(job.number, not_before)
        if first in (None, self.now):
            return first  # "If it is now, it is firm."
        ends = [self.end_on_least(other) for other in self.running]
        ends += [self.end_if_started(self.jobs[number], max(at, self.now)) for number, at in self.slots.items()]
        last = max([first, *(end for end in ends if end < FOREVER)])
        return next((at for at in range(first, last + 1) if self.can_book(job, at)), None)

    def first_start(self, number: int, not_before: int) -> int | None:
        # "A quote runs iterations forward over the expected ends, without arrivals and with other jobs with mates
        # passed over."
        job = self.jobs[number]
        if self.ready is job:
            self.give_back()
        self.slots.pop(number, None)
        self.passed_over.discard(number)
        while True:
            self.start_booked()
            if self._has_turn(job) and self.now >= not_before:
                return self.now
            ahead = [max(other.end(), self.now + 1) for other in self.running] + list(self.slots.values())
            ahead += [not_before] if not_before > self.now else []
            if not ahead:
                return None
            self.enter(min(ahead))
            for other in [other for other in self.running if other.end() <= self.now]:
                self.end(other)

    def _has_turn(self, job: Job) -> bool:
        had: list[Job] = []

        def starts(other: Job) -> bool:
            had.extend([other] if other is job else [])
            return self.passes_over(other)

        self._iterate(starts)
        return bool(had)

    def passes_over(self, other: Job) -> bool:
        """Say whether a job starts at its turn while iterations run forward; the one that is quoted has a mate."""
        return other.number not in self.paired

    def make_ready(self, job: Job) -> None:
        # "Nobody gives processors before the job starts."
        self.ready = job
        job.procs = min(self.avail, job.least)
        self.avail -= job.procs
        self.queue.remove(job)

    def give_back(self) -> None:
        job, self.ready = self.ready, None
        assert job is not None
        self.avail += job.procs
        job.procs = 0
        self.queue.append(job)
