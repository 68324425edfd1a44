"""A simulation of batch domains alone."""

from __future__ import annotations

from collections.abc import Callable

from cosched.core.scheduling.primitives.tables import NEVER
from cosched_sim.federation.batch_world import BatchWorld
from cosched_sim.federation.conductor import Conductor, uncollected
from cosched_sim.world import World


class Engine(World):
    """One simulation. Call `run` once, then read `tables`, `coschedulers` and `now`."""

    stalled = False  # True: the run ended because only forced releases remained, and they changed nothing

    def run(self, tell: Callable[[int], None] | None = None, stride: int = NEVER) -> None:
        """Simulate until nothing is left but forced releases in vain; tell the instant about every `stride` seconds."""
        conductor = Conductor([BatchWorld(self)], self.link, tell or (lambda _: None), stride=stride)
        with uncollected():
            conductor.run()
        self.stalled = conductor.stalled
