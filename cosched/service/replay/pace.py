"""The pace of a replay: by the wall clock, or in steps that a conductor orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import grpc

from cosched.core.job import JobState
from cosched.core.protocol import FOREVER
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.replay.paced_outside import CallNotes, PacedOutside
from cosched.service.replay.scripted import ScriptedChanges
from cosched.service.replay.scripted_domain import ScriptedDomain
from cosched.service.replay.submissions import Submissions
from cosched.service.timers import Timers
from cosched.service.wire.errors import Refusal
from cosched.v1 import replay_pb2 as wire
from cosched_adapters.launcher import PlayingLauncher
from cosched_adapters.replay_time import SharedTime, Step

# All but news, in their order
ALL = (wire.PHASE_COMPLETIONS, wire.PHASE_TIMERS, wire.PHASE_SLOTS, wire.PHASE_SUBMISSIONS, wire.PHASE_ITERATIONS)
MOST_ALONE = 1000  # instants in one call, so that it does not take long
TRY_AGAIN = 1  # seconds until a job that could not be recorded is submitted again


def submit_in_time(domain: LiveDomain, timers: Timers, submissions: Submissions) -> None:
    """Submit the jobs of a trace at their instants, those of past instants at once."""

    def await_next() -> None:
        if (at := submissions.next) is not None:
            timers.set("submission", at, submit)

    def submit() -> None:
        try:
            with domain.turns.take():
                submissions.submit()
        except Refusal:  # the domain is stalled
            timers.set("submission", domain.clock.now() + TRY_AGAIN, submit)
        else:
            await_next()

    await_next()


@dataclass
class Lockstep:
    """One domain at a conductor's pace, phase by phase (scheduling.md, Time and order)."""

    domain: LiveDomain
    manager: PlayingLauncher
    _time: SharedTime
    _outside: PacedOutside
    _calls: CallNotes
    _submissions: Submissions
    _scripted: ScriptedChanges
    _scripted_domain: ScriptedDomain
    _timers_fired: bool = False
    _before_iterations: bool = False

    async def advance(self, phases: Sequence[int], until: int = 0) -> wire.AdvanceResponse:
        """Go through these phases of the present instant in order, then go on alone up to `until`; Refusal.

        Return when the domain will do something next, and which other domains it has just changed.
        """
        self._timers_fired = self._before_iterations = False
        self._outside.changed.clear()  # as it was asked: who has asked tells that
        if wire.PHASE_NEWS in phases:
            self._time.begin(Step.LATER)
            await self._outside.news_comes()
            self._check_calls()
        else:
            await self._go_through(phases)
        for _ in range(MOST_ALONE):
            if not self._is_alone or self._next >= until:
                break
            self._time.tell(self._next)
            await self._go_through(ALL)
        changed, self._outside.changed = sorted(self._outside.changed), set()
        return wire.AdvanceResponse(
            next_completion=self.manager.next_end,
            next_timer=self._next_timer,
            next_submission=self._submissions.next,
            changed_domains=changed,
            instant=self.domain.clock.now(),
            timers_fired=self._timers_fired,
            before_iterations=self._before_iterations,
        )

    async def change(self, change: int, job: int, by: int) -> bool:
        """Carry out a change of a script; return whether that could be done. Refusal, FieldError."""
        self._time.begin(Step.SCRIPT)
        done = await self._scripted.carry_out(change, job, by)
        await self._settle()
        return done

    async def change_domain(self, said: wire.ChangeDomainRequest) -> None:
        """Carry out a change of a script. Refusal, FieldError."""
        self._time.begin(Step.SCRIPT)
        await self._scripted_domain.carry_out(said)
        await self._settle()

    async def _settle(self) -> None:
        await self._outside.settled()
        self._check_calls()

    def allocations(self) -> list[tuple[Any, ...]] | None:
        """Return what jobs had until now, see PlayingLauncher; None if each had the same from its start to its end."""
        allocates = self.domain.scheduler.capabilities.allocates
        return self.manager.allocations(by_time=not allocates) if allocates or self.manager.requeues else None

    @property
    def _is_alone(self) -> bool:
        """Whether the next step concerns no other domain, and does not decide whether anything will ever happen."""
        return not self._outside.changed and not self._time.has_news and self._submissions.next is not None

    @property
    def _next_timer(self) -> int | None:
        at = self.domain.policy.timers.next()
        return int(at) if at < FOREVER else None

    @property
    def _next(self) -> int:
        instants = (self.manager.next_end, self._next_timer, self._submissions.next)
        return min(instant for instant in instants if instant is not None)

    async def _go_through(self, phases: Sequence[int]) -> None:
        now = self.domain.clock.now()
        for timers in (wire.PHASE_TIMERS, wire.PHASE_SLOTS):
            if timers in phases and self.domain.policy.timers.next() == now:
                at = phases.index(timers)
                await self._turn(now, phases[:at])
                await self._fire(of_slots=timers == wire.PHASE_SLOTS)
                phases = phases[at + 1 :]
        if self._outside.changed and wire.PHASE_ITERATIONS in phases:
            self._before_iterations = True
            phases = phases[:-1]
        if phases:
            await self._turn(now, phases)
        self._check_calls()

    def _check_calls(self) -> None:
        if self._calls.problem:
            raise Refusal(grpc.StatusCode.ABORTED, "PEER_FAILED", self._calls.problem)

    async def _fire(self, *, of_slots: bool) -> None:
        """Fire the timers that are due, and wait for the answers that each needs."""
        self._timers_fired = True
        self._time.begin(Step.SLOTS if of_slots else Step.TIMERS)
        while self.domain.due(of_slots=of_slots):
            await self._outside.settled()

    def _submit(self, now: int) -> Refusal | None:
        """Submit the jobs of this instant; why one could not be recorded. What came before it in its turn stays."""
        try:
            while self._submissions.next == now:
                self._submissions.submit()
        except Refusal as refusal:
            return refusal
        return None

    async def _turn(self, now: int, phases: Sequence[int]) -> None:
        """Go through the phases in one turn, since only an iteration asks for answers; it then goes on in others.

        It ends before an iteration, or in the midst of it, if there is news.
        """
        refusal, iterates = None, wire.PHASE_ITERATIONS in phases
        with self.domain.turns.take() as changes:
            if wire.PHASE_COMPLETIONS in phases:
                self._time.begin(Step.COMPLETIONS)
                for job in self.manager.ended(now):
                    self.domain.end(job, JobState.COMPLETED, exit_code=0)
            if wire.PHASE_SUBMISSIONS in phases:
                self._time.begin(Step.SUBMISSIONS)
                refusal = self._submit(now)
            if iterates:
                self._time.begin(Step.LATER)
            if iterates and self._outside.has_news(changes):
                self._before_iterations, iterates = True, False
            self.domain.decisions.iterating = iterates and refusal is None
        self.domain.decisions.iterating = False
        while iterates and self._outside.fresh:
            await self._outside.settled()
            if self._time.has_news:
                break
            with self.domain.turns.take():
                self.domain.decisions.iterating = True
            self.domain.decisions.iterating = False
        await self._outside.settled()
        if refusal is not None:
            raise refusal
