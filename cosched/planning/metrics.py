"""The three metrics by which the search ranks machines (Dail et al. 2002, III.B, SortDescending). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cosched.planning.grid import Machine

METRICS = ("computation", "memory", "dual")
Ranking = Mapping[Machine, float]  # the larger, the better


def rankings(machines: Sequence[Machine]) -> dict[str, Ranking]:
    """Return the value of every machine by each metric.

    `computation` is what a new process gets of its speed, `memory` what the application may use, `dual` half of each,
    relative to the largest of all machines. So the value of a machine is the same in every set of sites.
    """
    computation = {machine: machine.speed * machine.cpu for machine in machines}
    memory = {machine: machine.memory for machine in machines}
    most_computation, most_memory = (max(values.values(), default=0.0) or 1.0 for values in (computation, memory))
    dual = {
        machine: 0.5 * computation[machine] / most_computation + 0.5 * memory[machine] / most_memory
        for machine in machines
    }
    return dict(zip(METRICS, (computation, memory, dual), strict=True))
