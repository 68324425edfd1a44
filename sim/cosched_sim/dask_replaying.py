"""Replays on a Dask cluster: each set of domains that pairs or groups connect is a task. The results are the same."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cosched.core.job import JobState
from cosched.validation.schemes import SchemeChoice
from cosched.words.errors import InputError
from cosched_sim.configuration import Domain, ReplayConfig
from cosched_sim.federation.player import Results
from cosched_sim.playing import Run, warm_up
from cosched_sim.replaying import Replay, Say, setup_of
from cosched_sim.results.outcomes import domain_result
from cosched_sim.results.result import ReplayResult
from cosched_sim.sweeps.dask_workers import dask_tasks
from cosched_sim.workload.jobs import Workload
from cosched_sim.workload.pairing import Pairing

Machine = tuple[Domain, Workload, int]  # and its nodes


class Part(NamedTuple):
    """What came of a set of domains: until when, of each what its player tells, and the CPU time in s.

    `is_over`: nothing lasts that would be counted until the end of the other domains.
    """

    now: int
    told: Sequence[Results]
    seconds: float
    is_over: bool


def play_part(machines: Sequence[Machine], pairing: Pairing) -> Part:
    """Replay a set of domains; ValueError: the times are too large."""
    setups = [setup_of(*machine) for machine in machines]
    warm_up(setups, pairing, lambda _: None)
    began = time.process_time()
    run = Run(setups, pairing)
    run.run()
    told = [run.told(setup) for setup in setups]
    told = [of._replace(counts=dict(of.counts), restarts=dict(of.restarts)) for of in told]  # as they can be sent
    lasts = any((of.jobs["state"] == JobState.HOLDING).any() for of in told)
    return Part(run.now, told, time.process_time() - began, not (run.stalled or lasts))


class DaskReplay(Replay):
    """Job logs, read, cleaned and paired, of which the workers of a Dask scheduler replay parts."""

    def __init__(
        self,
        config: ReplayConfig,
        say: Say = lambda _: None,
        doing: Say | None = None,
        *,
        address: str,
        compares: bool = False,
    ) -> None:
        """As `Replay`. InputError for settings by which domains are no longer independent."""
        for given, option in ((config.events, "--events"), (config.script is not None, "--script")):
            if given:
                raise InputError("--dask", None, f"parts know nothing of each other: {option} needs one process")
        super().__init__(config, say, doing, compares=compares)
        self._address = address

    def run(self, schemes: Sequence[SchemeChoice] | None = None) -> ReplayResult:
        """Simulate with the configured schemes, or with `schemes` (one a domain). OSError: no workers."""
        settings = self.settings(schemes)
        machines = list(zip(settings, self.workloads, self.nodes, strict=True))
        for machine in machines:
            setup_of(*machine)  # says what cannot be counted
        sets = connected(self.pairing, len(machines))
        tasks = (([machines[each] for each in domains], within(self.pairing, domains)) for domains in sets)
        try:
            with dask_tasks(self._address) as carry_out:
                parts = carry_out(play_part, tasks)
        except ValueError as error:  # the times are too large
            raise InputError("replay", None, str(error)) from None
        if not all(part.is_over for part in parts):
            self._say("some jobs hold to the end of all domains: they are replayed in one process")
            return super().run(schemes)
        told: dict[int, Results] = {}
        for domains, part in zip(sets, parts, strict=True):
            told |= zip(domains, part.told, strict=True)
        now = max(part.now for part in parts)
        results = {
            domain.name: domain_result(told[index], domain, nodes, workload, self.pairing, index, now)
            for index, (domain, workload, nodes) in enumerate(machines)
        }
        timing = {
            "read_s": self.read_s, "compile_s": self.compile_s, "simulate_cpu_s": sum(part.seconds for part in parts)
        }  # fmt: skip
        return ReplayResult(results, self.pairing, False, None, timing)


def connected(pairing: Pairing, domains: int) -> list[list[int]]:
    """Return the sets of domains that pairs and groups connect, each in order, by their first ones."""
    root = list(range(domains))

    def first_of(domain: int) -> int:
        while root[domain] != domain:
            root[domain] = root[root[domain]]
            domain = root[domain]
        return domain

    pairs = np.unique(pairing.domain.reshape(-1, 2), axis=0).tolist()
    for together in [*pairs, *([domain for domain, _ in group.members] for group in pairing.groups)]:
        firsts = [first_of(domain) for domain in together]
        for first in firsts:
            root[first_of(first)] = min(firsts)
    sets: dict[int, list[int]] = {}
    for domain in range(domains):
        sets.setdefault(first_of(domain), []).append(domain)
    return list(sets.values())


def within(pairing: Pairing, domains: Sequence[int]) -> Pairing:
    """Return the pairs and groups of a connected set of domains, which are counted within it."""
    place = {domain: number for number, domain in enumerate(domains)}
    here = np.isin(pairing.domain[:, 0], domains) if len(pairing.row) else np.zeros(0, bool)
    groups = [group for group in pairing.groups if group.members[0][0] in place]
    return Pairing(
        pairing.row[here],
        np.searchsorted(domains, pairing.domain[here]),
        pairing.job[here],
        groups=tuple(each._replace(members=tuple((place[at], row) for at, row in each.members)) for each in groups),
        terms={(place[domain], row): terms for (domain, row), terms in pairing.terms.items() if domain in place},
    )
