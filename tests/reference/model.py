"""What goes into the reference simulator and what comes out."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

Policy = Callable[[int, int, int], float]


@dataclass(frozen=True)
class RefJob:
    job_id: int
    submit: int
    run: int
    requested: int
    nodes: int


@dataclass
class RefDomain:
    name: str
    nodes: int
    jobs: list[RefJob]
    policy: str | Policy = "fcfs"
    backfill: str = "easy"
    layout: tuple[int, int] | None = None  # (units, nodes of a unit); None: flat
    scheme: str = "hold"
    release_interval: int = 1200
    release_jitter: str = "0.25"
    release_order: str = "wanted"
    max_held_fraction: str = "0.5"
    max_yields: int = 0
    yield_boost: str = "0"
    mate_budget: str = "0"
    slots: bool = False

    def __post_init__(self) -> None:
        # "`scheme = "meet"` is the preset yield + `mate_budget = 0.5` + `slots = on`"
        if self.scheme == "meet":
            self.scheme, self.mate_budget, self.slots = "yield", "0.5", True

    def meets(self) -> bool:
        return self.slots or Fraction(self.mate_budget) > 0


@dataclass(frozen=True)
class RefOutcome:
    ready: int | None
    start: int | None
    end: int | None
    holds: int
    yields: int
    held_node_seconds: int
    state: str  # "completed" or "never_started"
