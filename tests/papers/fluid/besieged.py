"""A fluid domain under anything that peers may say."""

from cosched.core.scheduling.scheduler import OpenScheduler
from cosched_papers.fluid.kind import FLUID
from cosched_papers.fluid.settings import FluidSettings
from tests.core.besieged import NODES, Besieged


class BesiegedFluid(Besieged):
    """A domain whose running jobs change their size."""

    def scheduler(self, slots: bool) -> OpenScheduler:
        return FLUID.open(FluidSettings(NODES, slots=slots))
