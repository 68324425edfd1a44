"""Replays, from the configuration to the results: read, clean, pair, simulate."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from cosched.installation.compilation import prepare_kernels
from cosched.validation.schemes import SchemeChoice
from cosched.words.errors import InputError
from cosched_sim import spans
from cosched_sim.configuration import Domain, ReplayConfig
from cosched_sim.domain_setup import DomainSetup
from cosched_sim.playing import Run, warm_up
from cosched_sim.progress import TimeLine
from cosched_sim.results.result import ReplayResult
from cosched_sim.script import ScriptedDomain, ScriptedEvent, of_no_effect, read_script, told
from cosched_sim.story import StoryLog
from cosched_sim.warm_up import SIMULATED, run_all_kernels
from cosched_sim.what_if import WhatIf
from cosched_sim.workload import traces
from cosched_sim.workload.columns import reading_of
from cosched_sim.workload.job_log import read_jobs
from cosched_sim.workload.jobs import Workload
from cosched_sim.workload.pairing import Pairing, groups_at_random, pairs_by_fraction, pairs_by_window
from cosched_sim.workload.pairs_file import pairs_from_file

Say = Callable[[str], None]
NO_PAIRS = Pairing(np.empty(0, np.int64), np.empty((0, 2), np.int64), np.empty((0, 2), np.int64))


def run(config: ReplayConfig, say: Say = lambda _: None) -> ReplayResult:
    """Carry out one replay."""
    return Replay(config, say).run()


class Replay:
    """Job logs, read, cleaned and paired, ready to be simulated under several schemes."""

    def __init__(
        self, config: ReplayConfig, say: Say = lambda _: None, doing: Say | None = None, *, compares: bool = False
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
            size = traces.size_message(workload, nodes)
            for message in (*traces.left_out_messages(workload), *([size] if size else []), *workload.remarks):
                say(message)
        self.pairing = pair_jobs(config, self.workloads)
        self.script = self._scripted()
        self._tell_of_spans(compares)
        self.read_s = time.perf_counter() - began
        self.compile_s = prepare_kernels(run_all_kernels, say, SIMULATED)

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
        settings = self.settings(schemes)
        setups = [setup_of(*machine) for machine in zip(settings, self.workloads, self.nodes, strict=True)]
        story = StoryLog() if self.config.events else None
        what_if = WhatIf(self.script)
        self.compile_s += warm_up(setups, self.pairing, self._say, what_if)
        began = time.process_time()
        try:
            run = Run(setups, self.pairing, what_if, story)
        except ValueError as error:  # the times are too large
            raise InputError("replay", None, str(error)) from None
        if self._doing is None:
            run.run()
        else:
            line = TimeLine(self.workloads, self._doing)
            run.run(line.tell, line.stride)
        timing = {"read_s": self.read_s, "compile_s": self.compile_s, "simulate_cpu_s": time.process_time() - began}
        return self._with_script(run.result(settings, timing), what_if)

    def _scripted(self) -> list[ScriptedEvent]:
        """Return the events of the script; InputError."""
        if self.config.script is None:
            return []
        members = self.pairing.members(len(self.workloads))
        machines = zip(self.config.domains, self.workloads, self.nodes, members, strict=True)
        domains = {}
        for domain, workload, size, paired in machines:
            rows = {str(job): row for row, job in enumerate(workload.job_id.tolist())}
            only_jobs = "" if domain.scheduler_kind.capabilities.what_if else domain.scheduler_kind.title
            domains[domain.name] = ScriptedDomain(rows, size, bool(domain.meeting_if_on), paired, only_jobs)
        return read_script(str(self.config.script), domains)

    def _with_script(self, result: ReplayResult, what_if: WhatIf) -> ReplayResult:
        """Return the result with the script, and say which events have done nothing."""
        names = [domain.name for domain in self.config.domains]
        ids = {name: work.job_id.tolist() for name, work in zip(names, self.workloads, strict=True)}
        for event in what_if.in_vain:
            self._say(of_no_effect(event, ids))
        return replace(result, script=told(self.script, ids))


def setup_of(domain: Domain, workload: Workload, nodes: int) -> DomainSetup:
    """InputError: a job cannot be counted exactly, or the settings do not fit the trace."""
    kind = domain.scheduler_kind
    try:
        jobs = kind.jobs(domain, workload, nodes)
        settings = domain.machine_settings(nodes)
    except ValueError as error:
        raise InputError(f"domain {domain.name}", None, str(error)) from None
    return DomainSetup(domain.name, workload, settings, domain.coscheduling_settings(), kind, jobs)


def read_machine(domain: Domain, config: ReplayConfig) -> tuple[Workload, int]:
    """Read one domain's workload and number of nodes; InputError."""
    has_pairs, reading, pool = config.pairs is not None, reading_of(domain.scheduler_kind, domain), domain.partitions
    return read_jobs(
        domain, partitions=pool, overrun=config.overrun, seed=config.seed, has_pairs=has_pairs, reading=reading
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
