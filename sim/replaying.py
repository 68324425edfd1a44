"""Replays, from the configuration to the results: read, clean, pair, simulate."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from cosched.compilation import prepare_kernels
from cosched.errors import InputError
from cosched.sim import spans
from cosched.sim.configuration import Domain, ReplayConfig
from cosched.sim.engine import Engine
from cosched.sim.federated import Federated
from cosched.sim.fluid import FluidRun
from cosched.sim.fluid import prepare as prepare_fluid
from cosched.sim.fluid_setup import fluid_setup
from cosched.sim.progress import TimeLine
from cosched.sim.results.collecting import collect
from cosched.sim.results.result import ReplayResult
from cosched.sim.script import ScriptedDomain, ScriptedEvent, read_script, told
from cosched.sim.story import StoryLog
from cosched.sim.warm_up import prepare_for, run_all_kernels
from cosched.sim.what_if import WhatIf
from cosched.sim.world import DomainSetup
from cosched.validation.schemes import SchemeChoice
from cosched.workload import traces
from cosched.workload.job_log import read_jobs
from cosched.workload.jobs import Workload
from cosched.workload.pairing import Pairing, groups_at_random, pairs_by_fraction, pairs_by_window
from cosched.workload.pairs_file import pairs_from_file

Machine = tuple[Domain, Workload, int]  # with its number of nodes
NO_PAIRS = Pairing(np.empty(0, np.int64), np.empty((0, 2), np.int64), np.empty((0, 2), np.int64))


def run(config: ReplayConfig, say: Callable[[str], None] = lambda _: None) -> ReplayResult:
    """Carry out one replay."""
    return Replay(config, say).run()


class Replay:
    """Job logs, read, cleaned and paired, ready to be simulated under several schemes."""

    def __init__(
        self,
        config: ReplayConfig,
        say: Callable[[str], None] = lambda _: None,
        doing: Callable[[str], None] | None = None,
        *,
        compares: bool = False,
    ) -> None:
        """`say` is called with what a user should know, `doing` with the progress of each run. InputError.

        `compares`: schemes are to be compared, which is refused where no jobs are paired, since all would be equal.
        """
        self.config = config
        self._say = say
        self._doing = doing
        began = time.perf_counter()
        machines = [read_machine(domain, config) for domain in config.domains]
        self.workloads = [workload for workload, _ in machines]
        self.nodes = [nodes for _, nodes in machines]
        for workload, nodes in machines:
            for message in [*traces.left_out_messages(workload), traces.size_message(workload, nodes)]:
                if message is not None:
                    say(message)
        self.pairing = pair_jobs(config, self.workloads)
        self.script = _script(config, self.workloads, self.nodes)
        self._tell_of_spans(compares)
        self.read_s = time.perf_counter() - began
        self.compile_s = prepare_kernels(run_all_kernels, say)

    def _tell_of_spans(self, compares: bool) -> None:
        """Say what a user would want to know before a long run: logs that do not overlap, a pairing that is empty."""
        names = [domain.name for domain in self.config.domains]
        gap = spans.apart(names, self.workloads)
        remarks = [gap] if gap is not None else []
        if len(names) > 1 and not len(self.pairing):
            remarks.append(spans.nothing_paired(self.config, self.workloads, self.pairing))
            if compares:
                raise InputError("--compare", None, f"all schemes would be equal: {remarks[0]}")
        for remark in remarks:
            self._say(remark)

    def settings(self, schemes: Sequence[SchemeChoice] | None = None) -> list[Domain]:
        """Return the settings of the domains, with the configured schemes or with `schemes`."""
        if schemes is None:
            return list(self.config.domains)
        return [d.model_copy(update={"scheme": s}) for d, s in zip(self.config.domains, schemes, strict=True)]

    def run(self, schemes: Sequence[SchemeChoice] | None = None) -> ReplayResult:
        """Simulate with the configured schemes, or with `schemes` (one a domain)."""
        machines = list(zip(self.settings(schemes), self.workloads, self.nodes, strict=True))
        batch = [machine for machine in machines if not machine[0].is_fluid]
        fluid = [machine for machine in machines if machine[0].is_fluid]
        if not fluid:
            return self._run_batch(batch)
        return self._run_together(machines) if len(self.pairing) else self._with_fluid(batch, fluid)

    def _run_together(self, machines: Sequence[Machine]) -> ReplayResult:
        """Play domains of both kinds that have mates on each other."""
        setups = [_setup(*machine) for machine in machines]
        story = StoryLog() if self.config.events else None
        slots = any(setup.fluid is not None and setup.fluid.settings.slots for setup in setups)
        self.compile_s += prepare_fluid(self._say, mates=True, slots=slots) + prepare_for(setups, self._say)
        began = time.process_time()
        run = Federated(setups, self.pairing, story)
        if self._doing is None:
            run.run()
        else:
            run.run(TimeLine(self.workloads, self._doing).tell)
        return run.result([domain for domain, _, _ in machines], self._timing(began))

    def _timing(self, began: float) -> dict[str, float]:
        seconds = time.process_time() - began
        return {"read_s": self.read_s, "compile_s": self.compile_s, "simulate_cpu_s": seconds}

    def _with_fluid(self, batch: Sequence[Machine], fluid: Sequence[Machine]) -> ReplayResult:
        """Play fluid domains one by one, the others together: nobody has mates."""
        self.compile_s += prepare_fluid(self._say)
        began = time.process_time()
        runs = {domain.name: FluidRun(domain, workload, nodes) for domain, workload, nodes in fluid}
        seconds = time.process_time() - began
        result = self._run_batch(batch) if batch else self._nothing()
        found = {**result.domains, **{name: run.result() for name, run in runs.items()}}
        timing = {**result.timing, "simulate_cpu_s": result.timing["simulate_cpu_s"] + seconds}
        events = result.events
        if events is not None:
            more = [event for run in runs.values() for event in run.events()]
            events = sorted([*events, *more], key=lambda event: event["time"])
        domains = {domain.name: found[domain.name] for domain in self.config.domains}
        return replace(result, domains=domains, timing=timing, events=events)

    def _nothing(self) -> ReplayResult:
        timing = {"read_s": self.read_s, "compile_s": self.compile_s, "simulate_cpu_s": 0.0}
        return ReplayResult({}, self.pairing, False, [] if self.config.events else None, timing)

    def _run_batch(self, machines: Sequence[Machine]) -> ReplayResult:
        settings = [domain for domain, _, _ in machines]
        setups = [_setup(*machine) for machine in machines]
        story = StoryLog() if self.config.events else None
        self.compile_s += prepare_for(setups, self._say)
        began = time.process_time()
        try:
            engine = Engine(setups, self.pairing, WhatIf(self.script), story)
        except ValueError as error:  # the times are too large
            raise InputError("replay", None, str(error)) from None
        if self._doing is None:
            engine.run()
        else:
            line = TimeLine([workload for _, workload, _ in machines], self._doing)
            engine.run(line.tell, line.stride)
        timing = self._timing(began)
        events = story.with_unpaired(engine) if story is not None else None
        ids = {setup.name: setup.workload.job_id.tolist() for setup in setups}
        return replace(collect(engine, settings, timing, events), script=told(self.script, ids))


def _setup(domain: Domain, workload: Workload, nodes: int) -> DomainSetup:
    fluid = fluid_setup(domain, workload, nodes) if domain.is_fluid else None
    return DomainSetup(domain.name, workload, domain.cluster_settings(nodes), domain.coscheduling_settings(), fluid)


def read_machine(domain: Domain, config: ReplayConfig) -> tuple[Workload, int]:
    """Read one domain's workload and number of nodes; InputError."""
    return read_jobs(
        domain,
        partitions=domain.partitions,
        overrun=config.overrun,
        seed=config.seed,
        has_pairs=config.pairs is not None,
        min_share=domain.least_share,
    )


def pair_jobs(config: ReplayConfig, workloads: Sequence[Workload]) -> Pairing:
    """Pair the jobs as configured; InputError."""
    names = [domain.name for domain in config.domains]
    if config.pairs is not None:
        slots = [domain.name for domain in config.domains if domain.meeting_if_on.slots]
        return pairs_from_file(config.pairs, names, workloads, slots)
    if config.pair_window is not None:
        return pairs_by_window(workloads, config.pair_window)
    if config.pair_fraction is not None and config.group_size is not None:
        return groups_at_random(workloads, config.pair_fraction, config.group_size, config.seed)
    if config.pair_fraction is not None:
        return pairs_by_fraction(workloads, config.pair_fraction, config.seed)
    return NO_PAIRS


def _script(config: ReplayConfig, workloads: Sequence[Workload], nodes: Sequence[int]) -> list[ScriptedEvent]:
    if config.script is None:
        return []
    domains = {
        domain.name: ScriptedDomain(
            {str(job): row for row, job in enumerate(workload.job_id.tolist())}, size, bool(domain.meeting_if_on)
        )
        for domain, workload, size in zip(config.domains, workloads, nodes, strict=True)
    }
    return read_script(str(config.script), domains)
