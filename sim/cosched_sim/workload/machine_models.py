"""Parameters of the generated workloads: what a month on each machine is like, and the source of each figure.

The logs named here are public: ANL-Intrepid-2009-1 (its first 3,000 jobs: submit, run and size),
ANL-Mira-2018 (Intrepid's successor: requested times and users) and KTH-SP2-1996-2 (100 nodes, as Eureka
has; 2,514 jobs and a load of 0.69 in 30 days). No log of Eureka is public. "Tang" is Tang et al., Job
Coscheduling on Coupled High-End Computing Systems (2011), section V.

Values marked "fitted" were set once so that months without coscheduling have, in the mean over seeds 1 to 240, the
figures that section V states for the workload alone. Under WFP and EASY on flat nodes, jobs wait 60.9 min on Intrepid
(Tang: 61) with a slowdown of 6.04 (6.1). Months of Eureka packed to loads of 0.25, 0.5 and 0.75 have slowdowns of 2.5
(the median month 1.5), 11.3 and 38.5 (Tang: 1.7, 12.5 and 37.1), and a window of two minutes pairs 4.3, 7.5 and
10.8 % of Intrepid's jobs (5 to 10 %). The paper's figures cannot all be met at once. Its shares of pairs differ by a
factor of two, but the jobs at the three loads differ by a factor of three, and the pairs by nearly as much. And a
workload with a slowdown of 12 at 0.5 has some months above 2 at 0.25. Nothing was fitted to results of coscheduling.
Single months vary widely: Intrepid's wait has a standard deviation of 14 min over seeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

MachineName = Literal["intrepid", "eureka"]

MONTH_S = 30 * 86_400


@dataclass(frozen=True, slots=True)
class RunClass:
    """One log-normal part of the run times: share of the jobs, median in seconds, sigma of the logarithm."""

    share: float
    median_s: float
    sigma: float


@dataclass(frozen=True, slots=True)
class MachineModel:
    """The generator's parameters for one machine; `dataclasses.replace` makes a variant.

    Shares need not sum to 1. A job's size, run time and estimate are independent of one another and of its
    session. ValueError for a model that cannot be drawn.

    * `jobs_per_month` and `utilisation` (offered load) together describe the default month of 30 days. The
      arrival rate changes in proportion to the load, as Tang packs several months of Eureka into one.
    * `sizes`: (nodes, share of the jobs).
    * `runs`, `min_run_s`, `limit_s`: the run times, clipped; requested times are at most `limit_s` too.
    * `accuracy`: (quantile, run / estimate) points of the inverse distribution, from quantile 0 to 1, linear in
      between.
    * `rounding`: (seconds, share): the user's estimate is rounded up to a multiple of this.
    * `session_jobs`, `session_gap_s`: users submit in sessions of this mean number of jobs (geometric; 1: a
      plain Poisson process) with these mean gaps (exponential).
    * `peak_hour`, `daily_swing`, `weekend_rate`: sessions begin at a rate of 1 + swing * cos(hour of the
      day - peak), on Saturday and Sunday times `weekend_rate`.
    """

    name: str
    nodes: int
    jobs_per_month: int
    utilisation: float
    sizes: tuple[tuple[int, float], ...]
    runs: tuple[RunClass, ...]
    min_run_s: int
    limit_s: int
    accuracy: tuple[tuple[float, float], ...]
    rounding: tuple[tuple[int, float], ...]
    session_jobs: float
    session_gap_s: float
    peak_hour: float
    daily_swing: float
    weekend_rate: float

    def __post_init__(self) -> None:
        """Check the ranges."""
        rules = {
            "sizes must be from 1 node to the machine": all(1 <= size <= self.nodes for size, _ in self.sizes),
            "run times need 1 <= min_run_s <= limit_s": 1 <= self.min_run_s <= self.limit_s,
            "jobs_per_month and utilisation must be above 0": self.jobs_per_month > 0 and self.utilisation > 0,
            "accuracy must be above 0 and at most 1": all(0 < ratio <= 1 for _, ratio in self.accuracy),
            "rounding must be 1 second or more": all(step >= 1 for step, _ in self.rounding),
            "sessions need 1 job or more": self.session_jobs >= 1 and self.session_gap_s >= 0,
            "daily_swing must be 0 to 1": 0 <= self.daily_swing <= 1 and self.weekend_rate >= 0,
        }
        for rule, kept in rules.items():
            if not kept:
                raise ValueError(f"machine model {self.name!r}: {rule}")


INTREPID = MachineModel(
    name="intrepid",
    # Tang: 40,960 nodes, and one real month of 9,219 jobs of 512 to 32,768 nodes.
    nodes=40_960,
    jobs_per_month=9_219,
    # Fitted: to Tang's base wait of 61 min.
    utilisation=0.745,
    # ANL-Intrepid-2009-1: shares of the jobs of 512 nodes or more.
    sizes=(
        (512, 0.630), (1_024, 0.153), (2_048, 0.075), (4_096, 0.069), (8_192, 0.047), (16_384, 0.0155),
        (32_768, 0.0105),
    ),
    # ANL-Intrepid-2009-1: quartiles of about 2,450, 3,700 and 5,900 s (jobs of 512 nodes or more). The short
    # class is fitted to Tang's base slowdown of 6.1, which needs more short jobs than that log begins with;
    # the long median is set so that 9,219 jobs make the load above.
    runs=(RunClass(0.42, 115.0, 0.8), RunClass(0.58, 6_030.0, 0.7)),
    # ANL-Mira-2018: the shortest jobs take a minute or two, including a partition's boot.
    min_run_s=60,
    # ANL-Intrepid-2009-1: 99 % of the jobs of 512 nodes or more end by 43,257 s, which suggests a limit of 12 h.
    limit_s=43_200,
    # ANL-Mira-2018: run / request has its quartiles at 0.34, 0.64 and 0.93, and a fifth of the jobs reach
    # their request. The values here are nearer to 1, since the estimates are still to be rounded up.
    accuracy=((0.0, 0.02), (0.08, 0.12), (0.25, 0.6), (0.5, 0.9), (0.7, 1.0), (1.0, 1.0)),
    # ANL-Mira-2018: of the requests, 55 % are whole hours, 71 % half hours, 75 % quarters and 99 % 5 minutes.
    rounding=((300, 0.25), (900, 0.05), (1_800, 0.20), (3_600, 0.50)),
    # ANL-Mira-2018: if a pause of 20 minutes ends a user's session, sessions have 2.6 jobs, 188 s apart.
    session_jobs=2.6,
    session_gap_s=188.0,
    # ANL-Mira-2018, hours in Chicago: from 0.52 of the mean at 8 h to 1.43 at 19 h, high from 13 to 22.
    peak_hour=17.0,
    daily_swing=0.40,
    # ANL-Mira-2018: Saturday has 0.89 and Sunday 0.80 of the mean; together that is 0.80 of a working day.
    weekend_rate=0.80,
)  # fmt: skip

EUREKA = MachineModel(
    name="eureka",
    # Tang: 100 nodes, jobs of 1 to 100 nodes, loads of 0.25, 0.5 and 0.75.
    nodes=100,
    # Fitted so that a window of two minutes pairs about 5 % to 10 % of Intrepid's jobs (Tang gives no count).
    # KTH-SP2 has 1,822 a month if its 2,514 at a load of 0.69 are thinned to this load.
    jobs_per_month=1_760,
    utilisation=0.5,
    # Up to 32 nodes: the shares of KTH-SP2-1996-2, with rare sizes merged into their neighbours. Above 32 nodes:
    # fitted. 4 % of KTH-SP2's jobs are that large. With so many, jobs would wait at a load of 0.25 too, but Tang's
    # slowdown of 1.7 there leaves room for hardly any waiting. So there are one or two a month, some of them of the
    # whole machine.
    sizes=(
        (1, 0.329), (2, 0.134), (3, 0.048), (4, 0.104), (5, 0.039), (6, 0.024), (7, 0.011), (8, 0.087), (9, 0.039),
        (10, 0.021), (12, 0.014), (16, 0.065), (20, 0.009), (25, 0.012), (32, 0.028), (50, 0.0006), (100, 0.0002),
    ),
    # KTH-SP2-1996-2 has two humps: tests of seconds to minutes (42 % end within 5 minutes, with a median of 25 s)
    # and production of hours. Its deciles are 14, 22, 63, 221, 848, 2,680, 7,064, 12,518 and 28,696 s. The
    # short class is fitted to Tang's base slowdowns; the long median is set so that 1,760 jobs make the load.
    runs=(RunClass(0.52, 20.0, 1.3), RunClass(0.48, 16_000.0, 1.3)),
    # KTH-SP2-1996-2: the first decile is 14 s.
    min_run_s=10,
    # KTH-SP2-1996-2: 99 % of the jobs end by 77,550 s, which suggests a limit of 24 h.
    limit_s=86_400,
    # KTH-SP2-1996-2: run / request has its quartiles at 0.08, 0.41 and 0.88; here nearer to 1, as for Intrepid.
    accuracy=((0.0, 0.02), (0.1, 0.1), (0.25, 0.3), (0.5, 0.75), (0.75, 1.0), (1.0, 1.0)),
    # KTH-SP2-1996-2: of the requests, 28 % are whole hours, 36 % half hours, 41 % quarters, 84 % 5 minutes.
    rounding=((300, 0.59), (900, 0.05), (1_800, 0.08), (3_600, 0.28)),
    # KTH-SP2-1996-2: if a pause of 20 minutes ends a user's session, sessions have 2.2 jobs. Fitted to fewer, since
    # longer sessions make jobs wait too long at a load of 0.25. The gaps are those of ANL-Mira-2018.
    session_jobs=1.5,
    session_gap_s=188.0,
    # ANL-Mira-2018: the rhythm of Argonne's users, as on Intrepid. KTH-SP2's nights (0.06 of the mean at 4 h)
    # are those of one university, and would make the days busy even at a load of 0.25.
    peak_hour=17.0,
    daily_swing=0.40,
    weekend_rate=0.80,
)  # fmt: skip

MODELS: Mapping[MachineName, MachineModel] = MappingProxyType({"intrepid": INTREPID, "eureka": EUREKA})


def varied(
    model: MachineModel,
    *,
    sessions: float | None = None,
    swing: float | None = None,
    large: float | None = None,
    spread: float = 1,
) -> MachineModel:
    """Return a variant: what is not given stays. ValueError for a model that cannot be drawn.

    `sessions`: mean number of jobs that a user submits in a row. `swing`: by which share of the mean the rate of
    sessions goes up in the day and down in the night. `large`: share of the jobs on half of the machine or more.
    `spread`: factor of the sigmas of the run times' logarithms.
    """
    return replace(
        model,
        session_jobs=model.session_jobs if sessions is None else sessions,
        daily_swing=model.daily_swing if swing is None else swing,
        sizes=model.sizes if large is None else _with_large(model, large),
        runs=tuple(replace(part, sigma=part.sigma * spread) for part in model.runs),
    )


def _with_large(model: MachineModel, share: float) -> tuple[tuple[int, float], ...]:
    """Return the sizes with another share of large jobs; among these, and among the others, nothing changes."""
    if not 0 <= share < 1:
        raise ValueError(f"large: {share:g} is not a share of the jobs from 0 to 1")
    large = sum(weight for size, weight in model.sizes if 2 * size >= model.nodes)
    others = sum(weight for _, weight in model.sizes) - large
    return tuple(
        (size, weight * (share / large if 2 * size >= model.nodes else (1 - share) / others))
        for size, weight in model.sizes
    )
