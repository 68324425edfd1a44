"""Two small machines under the simulator's engine, for rules that need a local scheduler or both sides."""

from decimal import Decimal

import numpy as np

from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.job import JobState
from cosched.core.scheduling.policies.backfilling import BACKFILLING
from cosched.core.scheduling.policies.ordering import parse_ordering
from cosched.core.scheduling.scheduler import ClusterSettings
from cosched.core.settings import CoschedulingSettings, ReleaseOrder
from cosched_sim.domain_setup import DomainSetup
from cosched_sim.engine import Engine
from cosched_sim.what_if import WhatIf
from cosched_sim.workload.jobs import Workload
from cosched_sim.workload.pairing import Pairing

Jobs = dict[str, tuple[int, ...]]  # name -> (submit, run, nodes) or (submit, run, nodes, requested)


class Replay:
    """Machines A and B (10 nodes each) run their jobs; `pairs` are names of a job of A and one of B.

    FCFS, EASY, jitter 0 and the whole machine to hold, unless told otherwise; `a_only` and `b_only` are settings of
    one of them.
    """

    def __init__(self, a, b, pairs, *, script=(), a_only=None, b_only=None, **settings) -> None:
        self.lines: list[tuple[int, str, str, str, dict[str, object]]] = []
        setups = [_setup("A", a, {**settings, **(a_only or {})}), _setup("B", b, {**settings, **(b_only or {})})]
        self._rows = [{str(name): row for row, name in enumerate(s.workload.job_id)} for s in setups]
        rows = np.array([(self._rows[0][x], self._rows[1][y]) for x, y in pairs], np.int64).reshape(-1, 2)
        sides = np.tile(np.array([0, 1], np.int64), (len(pairs), 1))
        pairing = Pairing(np.arange(1, len(pairs) + 1), sides, rows)
        self.engine = Engine(setups, pairing, WhatIf(script), lambda *line: self.lines.append(line))
        self.engine.run()

    def _place(self, name: str) -> tuple[int, int]:
        domain = 0 if name in self._rows[0] else 1
        return domain, self._rows[domain][name]

    def start(self, name: str) -> int | None:
        domain, row = self._place(name)
        start = int(self.engine.tables.jobs[self.engine.first[domain] + row]["start"])
        return None if start < 0 else start

    def starts(self) -> dict[str, int | None]:
        return {name: self.start(name) for rows in self._rows for name in rows}

    def state(self, name: str) -> JobState:
        domain, row = self._place(name)
        return self.engine.clusters[domain].state(self.engine.first[domain] + row)

    def job(self, name: str) -> PairedJob:
        """The coscheduler's own record of a paired job."""
        return self.engine.coschedulers[self._place(name)[0]].jobs[name]

    def held_node_seconds(self, domain: int) -> int:
        return sum(held for _, _, held in self.engine.paired_outcomes(domain))

    def told(self, name: str) -> list[tuple[int, str]]:
        """The story of a job: instants and what happened, with the reason if there is one."""
        return [
            (now, f"{what}: {detail['why']}" if "why" in detail else what)
            for now, _, job, what, detail in self.lines
            if job == name
        ]

    def times(self, name: str, what: str) -> list[int]:
        """The instants at which `what` happened to a job."""
        return [now for now, _, job, happened, _ in self.lines if (job, happened) == (name, what)]


def _setup(name: str, jobs: Jobs, settings: dict[str, object]) -> DomainSetup:
    settings = {"release_jitter": Decimal(0), "max_held_fraction": Decimal(1), **settings}
    nodes = settings.pop("nodes", 10)
    policy, backfill = settings.pop("policy", "fcfs"), settings.pop("backfill", "easy")
    mate_budget = settings.pop("mate_budget", Decimal(0))
    coscheduling = CoschedulingSettings(**settings)
    cluster = ClusterSettings(
        nodes=nodes,
        ordering=parse_ordering(policy),
        backfilling=BACKFILLING[backfill],
        wanted_first=coscheduling.release_order is ReleaseOrder.WANTED,
        mate_budget=mate_budget,
        slots=coscheduling.slots,
    )
    return DomainSetup(name, _workload(name, jobs), cluster, coscheduling)


def _workload(source: str, jobs: Jobs) -> Workload:
    """In trace order; the requested time is the run time if not given."""
    rows = sorted(((name, *job, job[1])[:5] for name, job in jobs.items()), key=lambda row: row[1])
    names = np.array([row[0] for row in rows], dtype=np.str_)
    submit, run, nodes, requested = (np.array(column, np.int64) for column in zip(*(r[1:] for r in rows), strict=True))
    return Workload(source, names, submit, run, nodes, requested)
