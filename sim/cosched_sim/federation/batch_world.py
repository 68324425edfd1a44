"""Plays all batch domains of a simulation at once: they go through time in one compiled loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from cosched.core.protocol import Domain
from cosched.core.scheduling.batch.kernels import loop
from cosched.core.scheduling.batch.kernels.iteration import iterate
from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.compiled import direct
from cosched.core.scheduling.primitives.tables import AT_DOMAIN, AT_ROW, NEVER, NOW, Tables
from cosched_sim.federation.player import Advanced, JobOutcome, Phase, Results
from cosched_sim.scripted_world import WorldStage
from cosched_sim.workload.jobs import UNKNOWN
from cosched_sim.world import World


class BatchWorld:
    """The player of the domains of a world.

    Alone it goes through the whole run in the compiled loop, whose order is the conductor's. Beside other players the
    conductor takes it through the phases, and lets its domains iterate one by one, among those of the others.
    """

    def __init__(self, world: World) -> None:
        self.domains: Sequence[Domain] = list(world.index)
        self._world = world
        self._stage = WorldStage(world)
        self._timers_fired = False
        self._tables = world.tables
        records = world.tables.domains[:-1]
        self._arrivals, self._changed = records["next_submit"], records["changed"]
        self._ends = (records["first"] + records["jobs"]).tolist()
        self._has_running = direct(loop.has_running)
        self._loop, self._enter, self._iterate = direct(loop.advance), direct(loop.enter), direct(iterate)
        self._go_through_submissions = partial(self._go_through, loop.SUBMIT, direct(loop.submit), world.submitted)
        self._phases: dict[Phase, Callable[[], None]] = {
            Phase.COMPLETIONS: partial(self._go_through, loop.COMPLETE, direct(loop.complete), world.ended),
            Phase.SCRIPT: self._fire_script,
            Phase.TIMERS: world.fire_timers,
            Phase.SLOTS: world.fire_slots,
            Phase.SUBMISSIONS: self._go_through_submissions,
        }

    @property
    def next(self) -> int | None:
        instant = int(self._loop(self._tables, self._world.next_stop(), 0)[1])
        return instant if instant < NEVER else None

    def has_timer(self, now: int) -> bool:
        return self._world.next_stop() == now

    @property
    def has_submissions(self) -> bool:
        return bool(self._arrivals.tolist() != self._ends)

    @property
    def has_jobs(self) -> bool:
        """See the protocol. A script's events count as jobs."""
        return self._has_running(self._tables) or self.has_submissions or self._world.script.next() < NEVER

    # Alone

    def go_on(self, now: int, until: int) -> Advanced:  # noqa: ARG002
        world, link = self._world, self._world.link
        changed = link.changed
        react: dict[int, Callable[[int, int], None]] = {
            loop.SUBMITTED: world.submitted,
            loop.ENDED: world.ended,
            loop.JOB_READY: world.ready,
            loop.MEETS: lambda domain, _: world.meet(domain),
        }
        self._timers_fired = False
        while True:
            why, instant, domain, row = self._loop(self._tables, world.next_stop(), until)
            if why == loop.DONE:
                world.now = int(self._tables.clock[NOW])
                return self._advanced()
            world.now = instant
            if why in react:
                react[why](domain, row)
                if changed:  # another player's domain, which may iterate before the next one here
                    self._iterations(domain)
                    return self._advanced(last=domain)
                if not link.untold:
                    continue
            if (advanced := self._end_events(why)) is not None:
                return advanced

    def _end_events(self, why: int) -> Advanced | None:
        """Fire the timers that are due. Then go through what is left of an instant's events, if they concern others.

        Those hear of it after the last event, and before domains iterate. Not None: the world cannot go on alone.
        """
        world = self._world
        if why == loop.ENDED:
            self._phases[Phase.COMPLETIONS]()
        if why == loop.TIMERS_DUE or (why == loop.ENDED and self.has_timer(world.now)):
            if not self.has_jobs:
                return self._advanced(before_timers=True)
            self._timers_fired = True
            self._fire_script()
            world.fire_timers()
            world.fire_slots()
        if world.link.changed or world.link.untold:
            self._go_through_submissions()
            world.deliver()
            if world.link.changed:  # another player's domain, which may iterate before those here
                return self._advanced(last=None)
            self._enter(self._tables, world.now, loop.ITERATE)
        return None

    def _fire_script(self) -> None:
        """Carry out the script's events of this instant: before any domain's timers."""
        if not self._world.script.is_empty:
            self._world.script.fire(self._stage, self._world.now)

    def _advanced(self, *, last: int | None = -1, before_timers: bool = False) -> Advanced:
        self._enter(self._tables, self._world.now, loop.NEXT_INSTANT)
        iterated = None if last is None else self.domains[last]
        return Advanced(self._world.now, self._take_changed(), iterated, self._timers_fired, before_timers)

    def _take_changed(self) -> list[Domain]:
        own = [domain for domain, changed in zip(self.domains, self._changed, strict=True) if changed]
        return own + self._world.link.take_changed()

    # Beside others

    def advance(self, now: int, phases: Sequence[Phase]) -> Sequence[Domain]:
        self._world.now = now
        for phase in phases:
            self._phases[phase]()
        self._enter(self._tables, now, loop.NEXT_INSTANT)
        return self._world.link.take_changed()

    def _go_through(self, phase: int, kernel: Callable[[Tables], bool], react: Callable[[int, int], None]) -> None:
        self._enter(self._tables, self._world.now, phase)
        clock = self._tables.clock
        while kernel(self._tables):
            react(int(clock[AT_DOMAIN]), int(clock[AT_ROW]))

    def iterate(self, domain: Domain, now: int) -> Sequence[Domain]:
        self._world.now = now
        self._enter(self._tables, now, loop.NEXT_INSTANT)
        self._iterations(self._world.index[domain])
        return self._take_changed()

    def _iterations(self, domain: int) -> None:
        if self._world.domains[domain].cluster.meets:
            self._world.meet(domain)
            return
        while (row := self._iterate(self._tables, domain, self._world.now)) != NONE:
            self._world.ready(domain, row)

    def results(self, domain: Domain, now: int) -> Results:
        world, index = self._world, self._world.index[domain]
        world.now = now
        records, scheduler = world.rows(index), world.schedulers[index]
        jobs = {name: np.zeros(len(records), np.int64) for name in JobOutcome._fields}
        jobs |= {name: records[name].astype(np.int64) for name in ("start", "end", "state")}
        restarts = {row: scheduler.last_start(row) for row in scheduler.runs}
        had = scheduler.allocations(jobs["start"], jobs["end"], jobs["state"], now) if restarts else None
        for row, runs in scheduler.runs.items():
            jobs["start"][row] = runs[0][0]
        jobs["ready"], jobs["hold_start"] = jobs["start"].copy(), jobs["hold_start"] + UNKNOWN
        for row, job, held in world.paired_outcomes(index):  # with holds that last
            jobs["ready"][row] = UNKNOWN if job.ready_at is None else job.ready_at
            jobs["holds"][row], jobs["yields"][row], jobs["held_node_seconds"][row] = job.holds, job.yields, held
        holds, yields = scheduler.holds.holds(world.first[index], now), scheduler.yields.yields()
        return Results(jobs, scheduler.releases, holds, yields, had, restarts=restarts)
