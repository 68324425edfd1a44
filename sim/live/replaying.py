"""Replays by real services, from the configuration to the results."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from cosched.adapters.replay.time import SharedTime
from cosched.core.job import JobState
from cosched.core.settings import Scheme
from cosched.errors import InputError
from cosched.sim.configuration import ReplayConfig
from cosched.sim.live.conductor import Conductor
from cosched.sim.live.local_process import ServiceDiedError
from cosched.sim.live.player import Player
from cosched.sim.live.processes import TIME, LiveDomain, in_processes, prepared
from cosched.sim.replaying import Replay
from cosched.sim.results.result import DomainResult, Jobs, ReplayResult, add_pairs
from cosched.v1.replay_pb2 import JobResult
from cosched.workload.jobs import UNKNOWN, Workload


class LiveReplay(Replay):
    """Job logs, read, cleaned and paired. Each `run` starts new services; ServiceDiedError if one does not serve.

    `start` is the function that starts them, each in its own process.
    """

    start = staticmethod(in_processes)

    def __init__(
        self,
        config: ReplayConfig,
        say: Callable[[str], None] = lambda _: None,
        doing: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`doing` is called with the progress. InputError for settings that only a simulation supports."""
        if config.script is not None:
            raise InputError("--live", None, "services have no script of what-if events (--script)")
        if config.events:
            raise InputError("--live", None, "services write no events.jsonl (--events)")
        super().__init__(config, say)
        self._doing = doing

    def run(self, schemes: Sequence[Scheme] | None = None) -> ReplayResult:
        """Replay with the configured schemes, or with `schemes` (one a domain)."""
        settings = self.settings(schemes)
        domains = [LiveDomain(*each) for each in zip(settings, self.nodes, self.workloads, strict=True)]
        began = time.perf_counter()
        self._doing("starting services ...")
        with self._services(domains) as (players, told):
            started = time.perf_counter()
            conductor = Conductor(players, told, self._progress())
            conductor.run()
            self._doing("fetching results ...")
            results = [self._collect(i, domain, players[i], conductor.now) for i, domain in enumerate(domains)]
        timing = {"read_s": self.read_s, "compile_s": self.compile_s, "start_s": started - began}
        timing["replay_s"] = time.perf_counter() - started
        named = {domain.settings.name: result for domain, result in zip(domains, results, strict=True)}
        return ReplayResult(named, self.pairing, conductor.stalled, None, timing)

    @contextmanager
    def _services(self, domains: Sequence[LiveDomain]) -> Iterator[tuple[list[Player], SharedTime]]:
        """Yield clients of the services and their shared time; everything ends with the block."""
        with tempfile.TemporaryDirectory(prefix="cosched-") as folder, ExitStack() as stack:
            told = stack.enter_context(closing(SharedTime.make(Path(folder) / TIME)))
            players = stack.enter_context(self.start(prepared(domains, self.pairing, Path(folder))))
            yield players, told

    def _progress(self) -> Callable[[int], None]:
        """Return a function that reports progress at each new per cent of the time up to the last submission."""
        last = max(int(workload.submit.max()) for workload in self.workloads)
        said = -1

        def tell(now: int) -> None:
            nonlocal said
            percent = min(100, 100 * now // max(1, last))
            if percent > said:
                said = percent
                self._doing(f"replaying live: {percent} % ...")

        return tell

    def _collect(self, index: int, domain: LiveDomain, player: Player, now: int) -> DomainResult:
        results, releases = player.results()
        if [job.number for job in results] != list(range(1, len(domain.workload) + 1)):
            raise ServiceDiedError(f"{player.name}: not all jobs were submitted")
        jobs = _jobs(results, domain.workload, now)
        add_pairs(jobs, self.pairing, index)
        last = _last_event(jobs, domain.workload, now)
        return DomainResult(domain.settings, domain.nodes, domain.workload, jobs, releases, last)


def _jobs(results: Sequence[JobResult], workload: Workload, now: int) -> Jobs:
    """Return outcomes in trace order, without pairs; holds still in force count until now."""
    start, end = _column(results, "start"), _column(results, "end")
    held, since = _column(results, "held_node_seconds"), _column(results, "hold_start")
    return Jobs(
        ready=_column(results, "ready"),
        start=start,
        end=end,
        run=np.where((start != UNKNOWN) & (end != UNKNOWN), end - start, workload.run),
        holds=_column(results, "holds"),
        yields=_column(results, "yields"),
        held_node_seconds=held + np.where(since == UNKNOWN, 0, workload.nodes * (now - since)),
        state=_column(results, "state"),
        **{name: np.full(len(results), UNKNOWN, np.int64) for name in ("pair", "mate_domain", "mate")},
    )


def _last_event(jobs: Jobs, workload: Workload, now: int) -> int:
    """Return when the last job ended or was submitted, or the end of the replay if a job still holds."""
    if (jobs.state == JobState.HOLDING).any():
        return now
    return max(int(jobs.end.max()), int(workload.submit.max()))


def _column(results: Sequence[JobResult], name: str) -> Any:
    """Return one field of all jobs, UNKNOWN where it is absent."""
    optional = JobResult.DESCRIPTOR.fields_by_name[name].has_presence
    values = (UNKNOWN if optional and not job.HasField(name) else getattr(job, name) for job in results)
    return np.fromiter(values, np.int64, len(results))
