"""What goes into the reference simulator and what comes out."""

from collections.abc import Callable
from dataclasses import dataclass

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


@dataclass(frozen=True)
class RefOutcome:
    ready: int | None
    start: int | None
    end: int | None
    holds: int
    yields: int
    held_node_seconds: int
    state: str  # "completed" or "never_started"
