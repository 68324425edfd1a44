"""An engine that stops at every instant and checks what must always hold (coscheduling.md)."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

from cosched.core.job import JobState
from cosched.core.scheduling.batch.kernels import loop
from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.tables import FREE, NEVER, OUT
from cosched_sim.engine import Engine
from cosched_sim.holds_and_yields import HoldEnd

READY, RUNNING = int(JobState.READY), int(JobState.RUNNING)  # NumPy takes long to compare with others' types


def with_nodes(rows: np.ndarray) -> np.ndarray:
    state = rows["state"]
    return (state >= READY) & (state <= RUNNING)


class WatchedEngine(Engine):
    """Counts its checks in `checks`, so that a test can see that they were made."""

    checks = 0
    reservations_checked = 0

    def run(self) -> None:
        for domain, scheduler in enumerate(self.schedulers):
            scheduler.hold = partial(self._hold_and_check, domain, scheduler.hold)
        super().run()
        for domain in range(len(self.domains)):
            self._check_logs(domain)

    def _check_logs(self, domain: int) -> None:
        """What was noted hold by hold and yield by yield is what each job's counters say."""
        log = self.schedulers[domain].holds.holds(self.first[domain], self.now)
        jobs = list(self.paired_outcomes(domain))
        for row, job, held in jobs:
            own = log.row == row
            assert own.sum() == job.holds
            assert int((log.end - log.begin)[own].sum()) * int(self._rows(domain)[row]["nodes"]) == held
        assert len(log.row) == sum(job.holds for _, job, _ in jobs)
        assert (log.ended == HoldEnd.RELEASED).sum() == self.schedulers[domain].releases
        assert self.schedulers[domain].yields.yields().count.sum() == sum(job.yields for _, job, _ in jobs)

    def next_stop(self) -> int:
        timer = super().next_stop()
        return min(timer, int(loop.next_instant(self.tables, timer)))

    def fire_timers(self) -> None:
        super().fire_timers()
        self.check()

    def feed(self, domain, event) -> None:
        super().feed(domain, event)
        self.check()

    def check(self) -> None:
        self.checks += 1
        for domain in range(len(self.domains)):
            self._check_nodes(domain)
            self._check_holds(domain)

    def _rows(self, domain: int) -> np.ndarray:
        first = self.first[domain]
        return self.tables.jobs[first : first + len(self.domains[domain].workload)]

    def _check_nodes(self, domain: int) -> None:
        """1: no node is given to two jobs; held + busy never exceed the machine."""
        record, rows = self.tables.domains[domain], self._rows(domain)
        busy = rows[with_nodes(rows)]
        assert record["free"] >= 0
        assert int(busy["nodes"].sum()) + int(record["free"]) + int(record["out"]) == self.clusters[domain].nodes
        if record["units"]:
            self._check_units(domain, busy)

    def _check_units(self, domain: int, busy: np.ndarray) -> None:
        record = self.tables.domains[domain]
        counts, blocks = busy["nodes"] // record["unit_nodes"], busy["block"]
        assert not (blocks % counts).any()
        owners = np.zeros(int(record["units"]), int)
        for block, count in zip(blocks.tolist(), counts.tolist(), strict=True):
            owners[block : block + count] += 1
        units = self.tables.units[domain, : len(owners)]
        assert (owners <= 1).all()
        assert ((owners == 0) == ((units == FREE) | (units == OUT))).all()

    def _check_holds(self, domain: int) -> None:
        """3: held nodes never exceed the cap; a hold never outlives its release interval, jitter included."""
        settings = self.coschedulers[domain].settings
        holding = [j for j in self.coschedulers[domain].jobs.values() if j.state is JobState.HOLDING]
        if not holding:
            return
        cap = math.floor(Fraction(settings.max_held_fraction) * self.clusters[domain].nodes)
        assert sum(job.nodes for job in holding) == self.coschedulers[domain].ledger.held_nodes <= cap
        longest = settings.release_interval * (1 + Fraction(settings.release_jitter))
        for job in holding:
            assert settings.release_interval == 0 or self.now <= job.held_until <= job.held_since + longest

    def _hold_and_check(self, domain: int, hold: Callable, job: str, now: int, until: int) -> None:
        self._check_reservation(domain, job, until)
        hold(job, now, until)

    def _check_reservation(self, domain: int, name: str, until: int) -> None:
        """3: no hold of a job behind a reservation, nor the run that follows it, delays that reservation."""
        record = self.tables.domains[domain]
        if not record["backfilled"] or record["shadow"] >= NEVER or record["reserved"] == NONE:
            return
        self.reservations_checked += 1
        row = self.schedulers[domain].row[name]
        reserved, shadow = self.tables.jobs[int(record["reserved"])], int(record["shadow"])
        rows = self._rows(domain)
        busy = with_nodes(rows) & (np.arange(len(rows)) != row - self.first[domain])
        after = rows[busy & (rows["expected"] > shadow)]
        job = self.tables.jobs[row]
        over = until < NEVER and until + int(job["requested"]) <= shadow
        if record["units"]:
            self._check_block(record, reserved, after if over else np.append(after, job))
        else:
            used = int(after["nodes"].sum()) + (0 if over else int(job["nodes"]))
            assert self.clusters[domain].nodes - int(record["out"]) - used >= int(reserved["nodes"])

    @staticmethod
    def _check_block(record, reserved, after: np.ndarray) -> None:
        """The reserved block is free at the shadow time."""
        size = int(record["unit_nodes"])
        start, end = (int(record["reserved_block"]), int(record["reserved_block"]) + int(reserved["nodes"]) // size)
        for job in after:
            assert job["block"] >= end or job["block"] + job["nodes"] // size <= start
