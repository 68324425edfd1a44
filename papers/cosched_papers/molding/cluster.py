"""The scheduler of a domain whose jobs are molded, and come and go, with mates (molding.md)."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from cosched.core.allocation import Allocation
from cosched.core.protocol import JobId
from cosched.core.scheduling.plain import PlainJob, PlainScheduler
from cosched.core.scheduling.scheduler import ClusterJob
from cosched_papers.molding.jobs import BY, MODIFIER, check_sizes
from cosched_papers.molding.machine import run_time
from cosched_papers.molding.settings import CAPABILITIES, MoldingSettings
from cosched_papers.molding.turns import CHOSEN, COUNTED, GUARANTEED, MoldingTurns

PAST = "past"  # what is kept of the domain


class Molding(PlainScheduler):
    """The queue and the nodes; it holds the sizes of jobs: `core.scheduling.scheduler.OpenScheduler`."""

    capabilities = CAPABILITIES
    keeps = PlainScheduler.keeps | {CHOSEN, GUARANTEED, BY, MODIFIER, COUNTED}
    turns: MoldingTurns

    def __init__(self, settings: MoldingSettings) -> None:
        super().__init__(settings.nodes, turns=lambda scheduler: MoldingTurns(scheduler, settings))
        self._sizes = settings.sizes
        self._shrunk = self._expanded = 0  # jobs that have started on fewer nodes than N_opt; on more

    def check(self, job: ClusterJob) -> None:
        check_sizes(job, self.nodes, self._sizes)

    def least(self, job: JobId) -> int:
        """Return the fewest nodes that the job can be given now."""
        return self.turns.molded[job].smallest

    # Starts

    def _run(self, job: PlainJob, now: int) -> Allocation:
        self._shrunk += job.size < job.asked.nodes
        self._expanded += job.size > job.asked.nodes
        return super()._run(job, now)

    def duration(self, job: PlainJob) -> int:
        return run_time(self.turns.molded[job.asked.id], job.size)

    def allocation(self, job: PlainJob) -> Allocation:
        return Allocation(job.size, rate=Fraction(job.asked.requested, self.duration(job)))

    def counts(self) -> Mapping[str, Any]:
        return {"shrunk": self._shrunk, "expanded": self._expanded}

    def kept_of_domain(self) -> Mapping[str, Any]:
        return self.counts() if self.turns.past is None else {**self.counts(), PAST: self.turns.past.kept}

    def recall(self, kept: Mapping[str, Any]) -> None:
        self._shrunk, self._expanded = kept["shrunk"], kept["expanded"]
        if self.turns.past is not None:
            self.turns.past.kept = kept.get(PAST, {})
