"""The schedulers of Eureka, the schemes, and the months."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cosched_papers.studies.meet.schemes import MEET, under
from cosched_papers.studies.tang2011.setup import MACHINES, SCHEMES, SHARES, GeneratedMonths, Plan, Settings

INTREPID, EUREKA = MACHINES
COMBINATIONS = (*SCHEMES, MEET)
MEDIUM_SHARE = 0.1
FEW_SHARES = (SHARES[0], SHARES[-1])  # beside the medium one
OF_BATCH = ("policy", "backfill")  # keys that a fluid domain does not have


@dataclass(frozen=True, slots=True)
class Kind:
    """A scheduler of Eureka; `settings` are those of a fluid domain, none: it is a batch one."""

    name: str
    settings: Mapping[str, str]

    def of(self, settings: Settings) -> Settings:
        """Return a domain's settings with this scheduler."""
        if not self.settings:
            return settings
        return {**{key: value for key, value in settings.items() if key not in OF_BATCH}, **self.settings}


def _fluid(harvesting: str, percent: int = 50, cost: int = 0) -> Kind:
    name = f"{harvesting}, {percent} %" + (f", {cost} s" if cost else "")
    settings = {"scheduler": "fluid", "harvesting": harvesting, "min_share": str(percent / 100)}
    return Kind(name, settings | ({"resize_cost": str(cost)} if cost else {}))


BATCH = Kind("batch", {})
MAIN = _fluid("even")  # the kind at all shares of pairs
FLUID = (
    MAIN,
    _fluid("never"),
    _fluid("short"),
    _fluid("low_impact"),
    _fluid("even", 30),
    _fluid("low_impact", 30),
    _fluid("even", 50, 60),
)


def settings(kind: Kind, share: float, schemes: str, replication: int, seed: int, days: float) -> dict[str, Any]:
    """Return the settings of a replay."""
    plan = Plan(replication, seed, quick=False, days=days, months=GeneratedMonths())
    here = under(plan.by_share(SCHEMES[0], share, replication), schemes)
    intrepid, eureka = here["domains"]
    return {**here, "domains": [intrepid, kind.of(eureka)]}
