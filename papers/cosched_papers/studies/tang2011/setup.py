"""The set-up of section V: machines, policies, loads, paired shares, and the source of the months of jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MACHINES = ("intrepid", "eureka")  # the names of the policy domains, whichever logs are used

BASE = "none"  # no coscheduling
SCHEMES = ("HH", "HY", "YH", "YY")  # Intrepid's letter first
WORDS = {"H": "hold", "Y": "yield"}
I_HOLDS, I_YIELDS = ("HH", "HY"), ("YH", "YY")  # what Intrepid does
E_HOLDS, E_YIELDS = ("HH", "YH"), ("HY", "YY")  # what Eureka does
HOLDING, YIELDING = ("HH", "HY", "YH"), ("HY", "YH", "YY")  # what at least one machine does

LOADS = (0.25, 0.5, 0.75)  # of Eureka (V-D)
MEDIUM, HIGH = 0.5, 0.75
SHARES = (0.025, 0.05, 0.1, 0.2, 0.33)  # of Intrepid's jobs that are paired (V-E)

RELEASE_MIN = 20  # V-A
WINDOW_S = 120  # V-D
MONTH_DAYS = 30
MONTH_JOBS = 9_219  # V-D: jobs in Intrepid's month
EUREKA_JOBS = 1_760  # of a generated month of Eureka at a medium load
NATIVE_LOAD = 0.25  # V-D: the load of the Eureka log before several of its months are packed into one

# V-A: WFP and backfilling. V-B: the whole machine may be held. The paper's timer has no jitter.
COMMON: Mapping[str, Any] = {
    "policy": "wfp",
    "backfill": "easy",
    "release_interval": f"{RELEASE_MIN}m",
    "release_jitter": 0,
    "max_held_fraction": 1,
}

Settings = dict[str, Any]


class GeneratedMonths:
    """The source of the jobs of each replication (from 1): it gives settings of a domain, including its trace.

    Here months are drawn with the replay's seed (workload.generate). `longer`: there are spans longer than a month;
    `partitioned`: Intrepid is the machine whose partitions are known; `generated`: the jobs are drawn, so that their
    properties can be varied.
    """

    longer = partitioned = generated = True

    def intrepid(self, replication: int, days: float) -> Settings:  # noqa: ARG002  (the seed tells them apart)
        """Intrepid's jobs in so many days."""
        return {"trace": f"generated:intrepid/days={days:g}"}

    def eureka(self, replication: int, load: float, days: float) -> Settings:  # noqa: ARG002
        """Return Eureka's jobs: several months at a low load, packed into `days` so that they make this load."""
        native = days * load / NATIVE_LOAD
        return {"trace": f"generated:eureka/days={native:g}/utilisation={NATIVE_LOAD}", "load": load}

    def eureka_of_many(self, replication: int, days: float, load: float = MEDIUM) -> Settings:  # noqa: ARG002
        """Return Eureka's jobs for V-E: as many as Intrepid has, in the same span, with scaled run times."""
        jobs = round(MONTH_JOBS * days / MONTH_DAYS)
        return {"trace": f"generated:eureka/jobs={jobs}/days={days:g}/utilisation={load:g}"}


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run: `replications` of months of `days`, the first with the seed `seed`; `quick`: fewer cases."""

    replications: int
    seed: int
    quick: bool
    days: float
    months: GeneratedMonths

    def by_load(self, schemes: str, load: float, replication: int, days: float | None = None) -> Settings:
        """Return a replay of V-D: Eureka at a load, pairs by the window."""
        span = days or self.days
        machines = self.months.intrepid(replication, span), self.months.eureka(replication, load, span)
        return self._replay(schemes, machines, replication, pair_window=WINDOW_S)

    def by_share(self, schemes: str, share: float, replication: int, load: float = MEDIUM) -> Settings:
        """Return a replay of V-E: the same number of jobs on both machines, a share of Intrepid's paired."""
        eureka = self.months.eureka_of_many(replication, self.days, load)
        machines = self.months.intrepid(replication, self.days), eureka
        return self._replay(schemes, machines, replication, pair_fraction=str(share))

    def _replay(
        self, schemes: str, machines: tuple[Settings, Settings], replication: int, **pairs: str | int
    ) -> Settings:
        modes = ("off", "off") if schemes == BASE else (WORDS[schemes[0]], WORDS[schemes[1]])
        domains = [
            {"name": name, "scheme": mode, **COMMON, **machine}
            for name, mode, machine in zip(MACHINES, modes, machines, strict=True)
        ]
        return {"domains": domains, "seed": self.seed + replication - 1, **pairs}


def everywhere(settings: Settings, key: str, value: object) -> Settings:
    """Return a replay's settings with a domain's key set on both machines."""
    return {**settings, "domains": [{**domain, key: value} for domain in settings["domains"]]}
