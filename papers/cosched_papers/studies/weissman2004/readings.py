"""Other readings of 2.2, which leaves open who may start and on how many processors.

The kernels are compiled with one reading. Here their parts are called one by one, so others can be tried: slow, but
enough for some thousand jobs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cosched.core.job import JobState
from cosched_papers.fluid.kernels.gifts import give
from cosched_papers.fluid.kernels.harvest import carry_out
from cosched_papers.fluid.kernels.iteration import can_be_had
from cosched_papers.fluid.kernels.loop import next_instant
from cosched_papers.fluid.kernels.progress import begin, leave
from cosched_papers.fluid.kernels.state import NEVER
from cosched_papers.fluid.machine import FluidJobs, FluidTrace
from cosched_papers.fluid.settings import FluidSettings
from cosched_papers.studies.weissman2004.measuring import EVENTS, times
from cosched_papers.studies.weissman2004.setup import EVEN_FQ, LOW_FR, MOLDABLE, NO_LIMIT, POLICIES, column, rules
from cosched_sim.sweeps.case import Row

AS_HERE, OVERTAKING, LEAST = READ = ("as here", "whoever fits overtakes", "jobs start on their least")
HIGH = "12"
COMPLETED, QUEUED = int(JobState.COMPLETED), int(JobState.QUEUED)


def by_readings(jobs: FluidJobs, nodes: int) -> Row:
    """Measure some policies by each reading; their columns are called "READING: POLICY M MEASURE"."""
    row: Row = {}
    for reading in READ:
        for name, settings in _policies(nodes):
            state = Reader(jobs, settings, reading).run()
            found = times(jobs.submit, state.jobs["start"], state.jobs["end"])
            found[EVENTS] = float(state.jobs["harvests"].mean())
            row |= {f"{reading}: {column(name, measure=measure)}": value for measure, value in found.items()}
    return row


def _policies(nodes: int) -> Iterator[tuple[str, FluidSettings]]:
    yield MOLDABLE, FluidSettings(nodes, resizes=False)
    for policy, level in [*((policy, HIGH) for policy in POLICIES), (EVEN_FQ, NO_LIMIT), (LOW_FR, NO_LIMIT)]:
        yield column(policy, level), rules(policy, level, nodes)


class Reader:
    """A fluid machine that follows one reading."""

    def __init__(self, jobs: FluidJobs, settings: FluidSettings, reading: str) -> None:
        """ValueError: a job cannot run here."""
        self._state = FluidTrace(settings, jobs).state
        self._machine = self._state.machine[0]
        self._reading = reading
        self._queue: list[int] = []

    def run(self) -> Any:
        """Run all jobs to their ends; return the state of the machine."""
        while (now := int(next_instant(self._state))) != NEVER:
            self._complete(now)
            self._submit(now)
            self._iterate(now)
            self._machine["logged"] = 0
        return self._state

    def _complete(self, now: int) -> None:
        running = self._state.running[: self._machine["running"]].tolist()
        for row in reversed(running):
            if self._state.jobs[row]["end"] == now:
                leave(self._state, row, COMPLETED)

    def _submit(self, now: int) -> None:
        machine, jobs = self._machine, self._state.jobs
        while machine["submitted"] < machine["jobs"] and jobs[machine["submitted"]]["submit"] == now:
            row = int(machine["submitted"])
            jobs[row]["state"] = QUEUED
            self._queue.append(row)
            machine["submitted"] += 1

    def _iterate(self, now: int) -> None:
        while self._machine["running"] < self._machine["level"] and self._admitted(now, harvest=True):
            pass
        if self._machine["favor_running"]:
            give(self._state, now)
        while self._admitted(now, harvest=False):
            pass
        give(self._state, now)

    def _admitted(self, now: int, *, harvest: bool) -> bool:
        """Start one queued job, if one can be had."""
        jobs, free = self._state.jobs, int(self._machine["avail"])
        candidates = self._queue if self._reading == OVERTAKING else self._queue[:1]
        row = next((row for row in candidates if free >= jobs[row]["least"]), None)
        if row is None:
            if not (harvest and self._queue and can_be_had(self._state, self._queue[0], now)):
                return False
            row = self._queue[0]
            carry_out(self._state, now)
        most = int(jobs[row]["least" if self._reading == LEAST else "ideal"])
        self._queue.remove(row)
        begin(self._state, row, min(int(self._machine["avail"]), most), now)
        return True
