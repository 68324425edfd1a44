"""The machines, workloads and policies of 4.1 to 4.4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from cosched_papers.fluid.settings import Distribution, FluidSettings, Harvesting

Settings = dict[str, Any]

EVEN_FQ, EVEN_FR, LOW_FQ, LOW_FR = POLICIES = ("Even-H-FQ", "Even-H-FR", "Low-Imp-FQ", "Low-Imp-FR")
FQ, FR = (EVEN_FQ, LOW_FQ), (EVEN_FR, LOW_FR)
NO_LIMIT = "no limit"
LEVELS = ("3", "6", "9", "12", NO_LIMIT)
SHARES = (0.5, 0.4, 0.3, 0.2, 0.1)  # min_%_of_ideal
BETAS = (0.25, 0.5, 0.75, 1.0)
MODELS = LINEAR, PARABOLIC = ("linear", "parabolic")
APPLICATIONS = GAUSS, MIXED, STENCIL, SEQUENCES = ("gauss", "mixed", "stencil", "sequences")

IDEAL_ONLY, MOLDABLE, BACKFILL, EASY = ("IDEAL-ONLY", "MOLDABLE", "IDEAL-BACKFILL", "IDEAL-EASY")
BASELINES = (IDEAL_ONLY, MOLDABLE, BACKFILL)
BEST = f"{LOW_FR} {NO_LIMIT}"  # "the best overall harvest-based policy Low-Imp-FR for M = no_limit"

NODES = 128
LOAD = 0.654  # of the log itself; its fitted model makes 0.77
OTHER_LOADS = (0.55, 0.77)
GE_P4_S = 21_265  # with it IDEAL-ONLY has the paper's 1.78 jobs an hour (fluid.md)
SDSC = "sdsc"
IDEAL = "ideal"  # in the place of a share: schedulers that give every job its ideal
LOADS, READINGS = "load", "reading"  # experiments beside the models and the applications


@dataclass(frozen=True)
class Plan:
    """What is carried out: so many traces of `jobs` jobs, and `user_jobs` of one user; `logs` are files to fit, too."""

    traces: int
    jobs: int
    user_jobs: int
    seed: int
    quick: bool
    logs: Sequence[str] = ()

    @property
    def read_differently(self) -> int:
        """How many traces are run by other readings of the paper, which is slow."""
        return min(self.traces, 2 if self.quick else 10)

    def sp2(self, source: str, load: float, replication: int) -> str:
        """Return a trace of the SP2 at SDSC, or of a log."""
        begin = "generated:sdsc" if source == SDSC else f"fitted:{source}/nodes={NODES}"
        return f"{begin}/jobs={self.jobs}/load={load:g}/seed={self.seed + replication - 1}"

    def application(self, name: str, beta: float, replication: int) -> str:
        """Return a trace of one user's jobs."""
        seed = self.seed + replication - 1
        return f"generated:{name}/jobs={self.user_jobs}/beta={beta:g}/ge_p4={GE_P4_S}/seed={seed}"


def rules(policy: str, level: str, nodes: int, *, harvests: bool = True) -> FluidSettings:
    """Return the rules of one of the four policies; without harvests, the same rules under which nobody gives any."""
    harvesting = Harvesting.EVEN if policy.startswith("Even") else Harvesting.LOW_IMPACT
    return FluidSettings(
        nodes,
        harvesting if harvests else Harvesting.NEVER,
        Distribution.FAVOR_RUNNING if policy in FR else Distribution.FAVOR_QUEUED,
        None if level == NO_LIMIT else int(level),
    )


def column(policy: str, level: str = "", measure: str = "") -> str:
    """Return the column of a measure of a policy."""
    return " ".join(filter(None, (policy, level, measure)))


ALL_RULES: Mapping[str, tuple[str, str]] = {column(*each): each for each in product(POLICIES, LEVELS)}


def domain(trace: str, **settings: Any) -> Settings:
    """Return a replay of one machine."""
    return {"domains": [{"name": "machine", "trace": trace, **settings}]}


def fluid(trace: str, share: float, model: str = LINEAR) -> Settings:
    """Return a replay of jobs that may shrink to a share of their ideal."""
    return domain(trace, scheduler="fluid", min_share=str(share), model=model)


def batch(trace: str, backfill: str) -> Settings:
    """Return a replay of the same jobs on their ideal, in the order of submission."""
    return domain(trace, policy="fcfs", backfill=backfill)


def percent(share: float) -> str:
    """Return a share as text."""
    return f"{100 * share:g} %"
