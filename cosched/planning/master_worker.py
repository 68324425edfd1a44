"""Independent tasks: a master sends each worker the input of its tasks, and gets their output back.

The master is the first machine of the user's list, where the data are; tasks that it does itself are sent nowhere. A
worker's tasks come one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

from pydantic import BaseModel, Field

from cosched.planning.application import Application, Cost, Group, Made, Map, NoMapError, Prediction
from cosched.planning.balancing import Load, shared
from cosched.planning.chain import exchange_time
from cosched.planning.grid import MHZ, Grid, Machine
from cosched.planning.sites import Site
from cosched.validation.types import Settings

_ROUNDING = 1 + 1e-9


class TaskKeys(Settings):
    """What a task costs."""

    cycles: float = Field(1e9, gt=0, allow_inf_nan=False)
    bytes: float = Field(1e6, ge=0, allow_inf_nan=False)  # of the input, and as many of the output
    memory: float = Field(64, ge=0, allow_inf_nan=False)  # MB while it runs


class TaskModel:
    """Predicts when the last task has ended: the slowest machine's time for its tasks and their data."""

    def __init__(self, size: int, settings: TaskKeys, grid: Grid) -> None:
        self.size = size
        self._settings = settings
        self._costs: dict[Machine, Cost] = {}
        master = grid.machines[0]
        for machine in grid.machines:
            speed = MHZ * machine.speed * machine.cpu
            sending = 0.0 if machine is master else exchange_time(grid, master, machine, 8 * settings.bytes)
            if speed > 0 and machine.memory >= settings.memory and sending < math.inf:
                self._costs[machine] = Cost(settings.cycles / speed, sending)

    def taking_part(self, group: Group) -> list[Machine]:
        """Return the machines that can do a task, and that the master can send one."""
        return [machine for machine in group if machine in self._costs]

    def load(self, machine: Machine) -> Load:
        """Return what tasks cost a machine that takes part."""
        return Load(sum(self._costs[machine]), 0.0, self.size)

    def predict(self, map: Map) -> Prediction:
        each = [(self._costs[machine], tasks) for machine, tasks in zip(map.machines, map.shares, strict=True)]
        costs = tuple(Cost(cost.computing * tasks, cost.exchanging * tasks) for cost, tasks in each)
        return Prediction(max(sum(cost) for cost in costs), costs)


class TaskMapper:
    """Gives each machine as many tasks as it can end in the same time as the others."""

    def __init__(self, model: TaskModel) -> None:
        self._model = model

    def map(self, group: Group) -> Map:
        """See Mapper: machines that cannot do a task take no part."""
        machines = self._model.taking_part(group)
        self._check(machines)
        loads = [self._model.load(machine) for machine in machines]
        return Map(tuple(machines), tuple(shared(loads, self._model.size)))

    def even(self, group: Group) -> Map:
        if len(self._model.taking_part(group)) < len(group):
            raise NoMapError("one of the machines cannot do a task")
        self._check(group)
        tasks, more = divmod(self._model.size, len(group))
        return Map(tuple(group), tuple(tasks + (place < more) for place in range(len(group))))

    def promising(self, order: Group, sizes: Sequence[int], limit: float) -> list[int]:
        """See Mapper: those that can do all tasks within the limit."""
        wanted, usable = set(sizes), set(self._model.taking_part(order))
        limit *= _ROUNDING
        tasks = accumulate(self._model.load(each).within(limit) if each in usable else 0 for each in order)
        return [size for size, done in enumerate(tasks, 1) if done >= self._model.size and size in wanted]

    def _check(self, machines: Group) -> None:
        if not machines:
            lacks = "a processor that is free, the memory for a task, and a known link to the first of the list"
            raise NoMapError(f"none has {lacks}")
        if len(machines) > self._model.size:
            raise NoMapError(f"{len(machines):,} machines for {self._model.size:,} tasks")


def _make(size: int, settings: BaseModel, grid: Grid, sites: Sequence[Site]) -> Made:  # noqa: ARG001
    assert isinstance(settings, TaskKeys)
    model = TaskModel(size, settings, grid)
    return model, TaskMapper(model)


_PURPOSE = "independent tasks, whose data are on the first machine of the list"
MASTER_WORKER = Application("master-worker", _PURPOSE, "tasks", "tasks", "all tasks", TaskKeys, _make)
