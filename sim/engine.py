"""A simulation of batch domains alone."""

from __future__ import annotations

from cosched.sim.federation.batch_world import BatchWorld
from cosched.sim.federation.conductor import Conductor
from cosched.sim.world import World


class Engine(World):
    """One simulation. Call `run` once, then read `tables`, `coschedulers` and `now`."""

    stalled = False  # True: the run ended because only forced releases remained, and they changed nothing

    def run(self) -> None:
        """Simulate until no event is left, or only forced releases that change nothing."""
        conductor = Conductor([BatchWorld(self)])
        conductor.run()
        self.stalled = conductor.stalled
