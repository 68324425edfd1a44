"""A scheduler whose jobs are answered late, if at all, while anything else happens; checked after every step.

It is told what a policy domain may tell it, in any order that its protocols allow (`OpenScheduler` and those that it
keeps to). Now and then it begins anew from what is kept of its jobs, as in a service that was killed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import ceil
from random import Random
from typing import Any

from cosched.conformance.schedulers.subject import Subject
from cosched.core.allocation import Allocation
from cosched.core.effects import Book, Claim, Quote
from cosched.core.events import NOT_HOLDABLE, MayBeEarlier, NodesLost, Ready, Requeued
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER
from cosched.core.scheduling.scheduler import ClusterJob, ElasticScheduler, GroupScheduler, OpenScheduler, planning
from cosched.core.scheduling.starts import Starts

QUEUED, READY, HOLDING, RUNNING = JobState.QUEUED, JobState.READY, JobState.HOLDING, JobState.RUNNING


def plain(kept: Mapping[str, Any]) -> Mapping[str, Any]:
    """As it comes back from a record."""
    return json.loads(json.dumps(kept))


class Waiting:
    """A scheduler, and what is known of its jobs by what it was told and has said."""

    def __init__(self, subject: Subject, seed: object) -> None:
        self.random, self.now = Random(str(seed)), 0
        self.subject = subject
        self.scheduler: Any = subject.open()
        self.states: dict[str, JobState] = {}
        self.kept: set[str] = set()  # ready, since their groups are asked
        self.holdable: set[str] = set()
        self.slots: dict[str, int] = {}
        self.booked: dict[str, Allocation] = {}
        self.wanted: set[str] = set()
        self.submitted = self.started = self.preempted = 0
        self.counted: dict[tuple[str, int], Starts] = {}  # as a service keeps it

    # What happens

    def step(self) -> None:
        self.now += self.random.choice((0, 0, 1, 3))
        self.scheduler.enter(self.now)
        what = self.random.random()
        if what < 0.1:
            self.restart()
        elif what < 0.2 and self.slots:
            self.come_to_a_slot()
        elif what < 0.4 or not self.states:
            self.submit()
        else:
            self.random.choice(self.possible(job := self.random.choice(list(self.states))))(job)
        self.iterate()
        self.check()

    def possible(self, job: str) -> list[Callable[[str], None]]:
        """Return what may happen to a job."""
        state, grouping = self.states[job], isinstance(self.scheduler, GroupScheduler)
        if state is QUEUED:
            if self.scheduler.awaited == job:  # it may be earlier
                return [self.meeting.end_turn, self.unbook, self.leave]
            acts = [self.try_start, self.want_until, self.count_paired, self.leave]
            return acts + [self.try_ready] * grouping + self.of_slots()
        if state is READY and job in self.kept:
            return [self.start, self.give_back, self.leave]
        if state is READY:
            return [self.start, self.pass_over, self.leave, self.hold, *self.of_slots()]
        return [self.start, self.release, self.ask_again, self.leave] if state is HOLDING else [self.leave]

    @property
    def meeting(self) -> Any:
        """What plans ahead in the scheduler; None: nothing does."""
        return planning(self.scheduler)

    def of_slots(self) -> list[Callable[[str], None]]:
        return [self.quote, self.book, self.unbook, self.claim, self.want] if self.meeting is not None else []

    def iterate(self) -> None:
        while (turn := self.next()) is not None:
            assert self.states[turn.job] is QUEUED
            assert self.scheduler.awaited in (turn.job, None)
            if type(turn) is MayBeEarlier:
                assert self.slots[turn.job] > self.now
                return
            self.becomes_ready(turn)

    def next(self) -> Ready | MayBeEarlier | None:
        self.take_events()
        turn = self.scheduler.next(self.now)
        self.take_events()
        return turn

    def becomes_ready(self, ready: Ready) -> None:
        self.states[ready.job] = READY
        self.holdable.discard(ready.job)
        self.holdable |= {ready.job} if ready.hold_limit != NOT_HOLDABLE else set()

    def take_events(self) -> None:
        for event in self.scheduler.take_events() if isinstance(self.scheduler, ElasticScheduler) else ():
            assert self.states[event.job] in ((READY, HOLDING) if type(event) is NodesLost else (RUNNING,))
            if type(event) is NodesLost:
                self.states[event.job] = QUEUED
                self.kept.discard(event.job)
            if type(event) is Requeued:
                self.states[event.job] = QUEUED
                self.preempted += 1

    def submit(self) -> None:
        self.submitted += 1
        draw, job = self.random, str(self.submitted)
        nodes, asked = self.scheduler.rounded(draw.randint(1, 8)), draw.randint(1, 20)
        owner, paired, says = draw.choice("ab"), draw.random() < 0.8, self.subject.columns(draw, nodes)
        self.scheduler.submit(ClusterJob(job, nodes, asked, self.now, paired, owner=owner, columns=says))
        self.states[job] = QUEUED

    def runs(self, job: str) -> None:
        self.states[job] = RUNNING
        self.kept.discard(job)
        self.slots.pop(job, None)
        self.started += 1
        self.take_events()

    def start(self, job: str) -> None:
        self.states[job] = RUNNING  # the scheduler tells on what
        self.scheduler.start(job, self.now)
        self.runs(job)

    def hold(self, job: str) -> None:
        if job in self.holdable:
            self.scheduler.hold(job, self.now, self.now + 5)
            self.states[job] = HOLDING

    def ask_again(self, job: str) -> None:
        self.scheduler.ask_again(job)
        self.states[job] = READY

    def pass_over(self, job: str) -> None:
        self.scheduler.pass_over(job, self.now, 1.0)
        self.states[job] = QUEUED

    def release(self, job: str) -> None:
        self.scheduler.release(job, self.now)
        self.states[job] = QUEUED

    def try_start(self, job: str) -> None:
        self.states[job], before = RUNNING, QUEUED
        self.scheduler.try_start(job, self.now, self.now + 5)
        self.wanted.add(job)
        if self.scheduler.job(job).state is RUNNING:
            self.runs(job)
        else:
            self.states[job] = before
            self.take_events()

    def try_ready(self, job: str) -> None:
        self.scheduler.try_ready(job, self.now)
        if self.scheduler.job(job).state is READY:
            self.states[job] = READY
            self.kept.add(job)

    def give_back(self, job: str) -> None:
        self.scheduler.give_back(job, self.now)
        self.states[job] = QUEUED
        self.kept.discard(job)

    def want_until(self, job: str) -> None:
        self.scheduler.want_until(job, self.now + 5)

    def count_paired(self, job: str) -> None:
        self.scheduler.count_paired(job, self.random.random() < 0.5)

    def leave(self, job: str) -> None:
        how = JobState.COMPLETED if self.states.pop(job) is RUNNING else JobState.CANCELLED
        self.scheduler.leave(job, self.now, how)
        for known in (self.kept, self.wanted):
            known.discard(job)
        self.slots.pop(job, None)

    # Slots

    def quote(self, job: str) -> int | None:
        """Check that a question changes nothing."""
        before = self.scheduler.job(job), self.scheduler.used(), self.scheduler.free
        at = self.meeting.quote(Quote(job, self.now + self.random.randint(0, 9)), self.now).at
        assert (self.scheduler.job(job), self.scheduler.used(), self.scheduler.free) == before
        return at

    def book(self, job: str) -> None:
        if (at := self.quote(job)) is not None:
            booked = self.meeting.book(Book(job, at, 1), self.now)
            if booked is not None and booked.allocation is not None:
                self.booked[job] = booked.allocation
            if (slot := self.scheduler.job(job).kept.get("slot")) is not None:
                self.slots[job] = slot

    def unbook(self, job: str) -> None:
        self.meeting.unbook(job, self.now)
        self.slots.pop(job, None)

    def claim(self, job: str) -> None:
        due = self.slots.get(job, self.now + 1) <= self.now and self.states[job] is QUEUED
        self.meeting.claim(Claim(job), self.now)
        if self.states[job] is QUEUED and self.scheduler.job(job).state is READY:
            assert due
            self.states[job] = READY
            self.holdable.discard(job)

    def want(self, job: str) -> None:
        self.meeting.want(job, True)
        self.wanted.add(job)

    def come_to_a_slot(self) -> None:
        job = min(self.slots, key=self.slots.__getitem__)
        self.now = max(self.now, self.slots[job])
        self.scheduler.enter(self.now)
        self.claim(job)

    # Restarts

    def restart(self) -> None:
        """Check that what is kept of all jobs is enough for the next life, which decides as the one that goes on."""
        old, self.scheduler = self.scheduler, self.subject.open()
        self.scheduler.recall(plain(old.kept_of_domain()))
        self.scheduler.enter(self.now)
        self.counted |= old.starts.take_changed()
        self.scheduler.starts.recall((*key, starts) for key, starts in self.counted.items())
        for job in self.states:
            if job in self.wanted and self.meeting is not None:
                self.meeting.want(job, True)  # its mate asks again
            self.scheduler.submit(replace(known := old.job(job), kept=plain(known.kept)))
        self.kept.clear()
        assert [self.scheduler.job(job) for job in self.states] == [old.job(job) for job in self.states]
        assert (self.scheduler.used(), self.scheduler.free) == (old.used(), old.free)
        assert self.scheduler.kept_of_domain() == old.kept_of_domain()
        assert self.decided(self.scheduler) == self.decided(old)
        for job, state in self.states.items():
            self.states[job] = self.scheduler.job(job).state
            if state is not RUNNING and self.states[job] is RUNNING:
                self.runs(job)
            elif "slot" not in self.scheduler.job(job).kept:  # it has started, and given its nodes to another
                self.slots.pop(job, None)

    def decided(self, scheduler: OpenScheduler) -> list[object]:
        """Return what it does in an iteration, and then knows of its jobs. Every other job that is ready starts."""
        scheduler.reschedule()
        done: list[object] = []
        while (turn := scheduler.next(self.now)) is not None:
            done.append(turn)
            if type(turn) is MayBeEarlier:
                planning(scheduler).end_turn(turn.job)
            elif int(turn.job) % 2:
                scheduler.start(turn.job, self.now)
            else:
                scheduler.pass_over(turn.job, self.now, 1.0)
        return done + (scheduler.take_events() if isinstance(scheduler, ElasticScheduler) else [])

    # What always holds

    def check(self) -> None:
        """Every job is where it was put; nodes are counted once; what fits and waits is not forgotten."""
        scheduler = self.scheduler
        for job, state in self.states.items():
            assert job in scheduler
            known = scheduler.job(job)
            assert known.state is state, (job, known.state, state)
            assert known.kept.get("slot") == self.slots.get(job)
            assert scheduler.pushed(job) is None or state is not QUEUED
        assert sum(scheduler.used().values()) + scheduler.free == scheduler.nodes
        assert scheduler.free >= 0
        for state, nodes in scheduler.used().items():
            assert bool(nodes) <= (state in self.states.values())
        assert self.most_booked() <= scheduler.nodes
        if scheduler.awaited is None:
            assert not scheduler.changed
        assert (due := scheduler.next_event(self.now)) is None or due > self.now
        self.check_starts()

    def most_booked(self) -> int:
        """Return the nodes of slots at one instant, at most; jobs that can be resized have their least."""
        spans = []
        for job, start in self.slots.items():
            had = self.booked[job]
            end = had.expected if start < had.expected < FOREVER else start + self.scheduler.job(job).requested
            spans.append((start, end, had.nodes))
        return max((sum(n for start, end, n in spans if start <= at < end) for at, _, _ in spans), default=0)

    def check_starts(self) -> None:
        """Check that an owner's share of starts before their turn is never more than allowed, also over a restart."""
        by_owner = self.scheduler.starts.by_owner(self.now).values()
        assert sum(starts.started for starts in by_owner) in (self.started, 0)
        for starts in by_owner:
            assert starts.before_turn <= ceil(self.scheduler.starts.share * starts.started)

    def finish(self) -> None:
        """Answer and end everything: every job gets its turn."""
        for job in self.states:
            if self.meeting is not None:
                self.unbook(job)
        for _ in range(10 * len(self.states) + 10):
            self.now += 10
            self.scheduler.enter(self.now)
            self.scheduler.reschedule()  # as the service does now and then: a job that yielded waits for an iteration
            for job, state in list(self.states.items()):
                if self.states[job] in (READY, HOLDING):
                    self.start(job)
                elif state is RUNNING and self.states[job] is RUNNING:
                    self.leave(job)
            self.iterate()
        assert not self.states
        assert self.scheduler.free == self.scheduler.nodes
