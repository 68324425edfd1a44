"""An application for `cosched select`: a sweep over parameters, whose runs need nothing of each other."""

from __future__ import annotations

from itertools import accumulate

from pydantic import Field

from cosched.planning.application import Application, Cost, Map, NoMapError, Prediction
from cosched.planning.balancing import Load, shared
from cosched.validation.types import Settings


class SweepSettings(Settings):
    """`--application sweep,gigacycles=500`."""

    gigacycles: float = Field(100, gt=0)  # of a run
    memory: float = Field(50, ge=0)  # MB of a run


class Sweep:
    """Both the performance model and the mapper: a machine does one run after the other."""

    def __init__(self, runs, settings):
        self.runs = runs
        self.settings = settings

    def load(self, machine):
        """Seconds for a run, nothing beside that, and how many runs it may have."""
        fits = machine.memory >= self.settings.memory and machine.cpu > 0
        rate = machine.speed * 1e6 * machine.cpu
        return Load(self.settings.gigacycles * 1e9 / rate if fits else float("inf"), 0.0, self.runs if fits else 0)

    def predict(self, map):
        """The sweep ends with the last run of the slowest machine."""
        each = zip(map.machines, map.shares, strict=True)
        costs = tuple(Cost(self.load(machine).time(runs), 0.0) for machine, runs in each)
        return Prediction(max(cost.computing for cost in costs), costs)

    def map(self, group):
        """So many runs for each machine that all end at about the same time."""
        machines = [machine for machine in group if self.load(machine).most]
        if not 1 <= len(machines) <= self.runs:
            raise NoMapError(f"{len(machines)} machines can do one of {self.runs} runs")
        return Map(tuple(machines), tuple(shared([self.load(machine) for machine in machines], self.runs)))

    def even(self, group):
        """As a user does it who knows nothing of the machines."""
        if not all(self.load(machine).most for machine in group) or len(group) > self.runs:
            raise NoMapError("not each of these machines can do a run")
        runs, more = divmod(self.runs, len(group))
        return Map(tuple(group), tuple(runs + (place < more) for place in range(len(group))))

    def promising(self, order, sizes, limit):
        """Those numbers of machines that can do all runs within the limit."""
        done = list(accumulate(self.load(machine).within(limit) for machine in order))
        return [size for size in sizes if done[size - 1] >= self.runs]


def make(size, settings, grid, sites):
    """Return the model and the mapper for this many runs."""
    sweep = Sweep(size, settings)
    return sweep, sweep


SWEEP = Application(
    name="sweep",
    purpose="a sweep over parameters, of runs that need nothing of each other",
    unit="runs",
    size="runs",
    time="the sweep",
    keys=SweepSettings,
    make=make,
)
