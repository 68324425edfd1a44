"""What hostile jobs say to the schedulers of papers: see test_hostile_submissions.py."""

from collections.abc import Callable, Mapping
from typing import Any

from cosched.service.wire.submissions import MAX_NAME, MAX_TIME_LIMIT
from cosched_papers.fluid.kind import FLUID
from cosched_papers.fluid.models import MAX_RUN
from cosched_papers.fluid.settings import FluidSettings
from cosched_papers.heterogeneous.kind import HETEROGENEOUS
from cosched_papers.heterogeneous.settings import HeterogeneousSettings
from cosched_papers.heterogeneous.site import Machine
from cosched_papers.heterogeneous.site import Site as Machines
from cosched_papers.molding.kind import MOLDING
from cosched_papers.molding.settings import MoldingSettings, Sizing
from tests.service.hostile import FEW, MIDDLE, SUBMISSIONS


def _fluid(number: int, nodes: int) -> Mapping[str, Any]:
    """The first ones all run, and change their sizes; the others wait for the whole machine."""
    least = 1 if number % SUBMISSIONS < FEW - 2 else nodes - number
    columns = {"least": str(least), "model": "parabolic", "resize_s": str(MAX_RUN - 1), "resize_bytes": "1e12"}
    return {"nodes": nodes - number, "time_limit": MAX_RUN - 1, "columns": columns}


def _downey(number: int, nodes: int) -> Mapping[str, Any]:
    bounds = {"min_nodes": "1", "max_nodes": str(nodes)}
    curve = {"downey_a": "1000000", "downey_sigma": "1000000"}
    return {"nodes": nodes - number, "time_limit": MAX_TIME_LIMIT, "columns": {"moldable": "1", **bounds, **curve}}


def _table(number: int, nodes: int) -> Mapping[str, Any]:
    times = " ".join(f"{size}:{10**12}" for size in range(nodes - number - 9, nodes - number + 1))
    return {"nodes": nodes - number, "time_limit": MAX_TIME_LIMIT, "columns": {"moldable": "1", "run_times": times}}


def _unlike(*, preemptive: bool) -> Callable[[int], HeterogeneousSettings]:
    machines = tuple(Machine(f"m{number}", "any") for number in range(MIDDLE))
    site = Machines(machines, preemptive=preemptive)
    return lambda _: HeterogeneousSettings(site, {("c" * MAX_NAME, each.name): 10 for each in machines})


def _classed(number: int, _: int) -> Mapping[str, Any]:
    job_class = "c" * MAX_NAME if number % 2 else f"{number}{'x' * (MAX_NAME - 3)}"  # half of them are refused
    return {"nodes": 1, "columns": {"job_class": job_class, "priority": ("high", "low")[number // 2 % 2]}}


def _molding(sizing: Sizing) -> Callable[[int], MoldingSettings]:
    return lambda nodes: MoldingSettings(nodes, sizing)


OF_PAPERS = {  # the kind, its settings, and what jobs say
    "fluid": (FLUID, FluidSettings, _fluid),
    "fluid-slots": (FLUID, lambda nodes: FluidSettings(nodes, slots=True), _fluid),
    "heterogeneous": (HETEROGENEOUS, _unlike(preemptive=False), _classed),
    "heterogeneous-preemptive": (HETEROGENEOUS, _unlike(preemptive=True), _classed),
    "molding": (MOLDING, _molding(Sizing.SCOJO_P), _downey),
    "molding-table": (MOLDING, _molding(Sizing.SCOJO_P), _table),
    "molding-scojo": (MOLDING, _molding(Sizing.SCOJO), _downey),
    "molding-none": (MOLDING, _molding(Sizing.NONE), _downey),
    "molding-chosen": (MOLDING, _molding(Sizing.CIRNE_BERMAN), _downey),
}
