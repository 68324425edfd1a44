"""Live domains with the schedulers of papers, in the worlds of `tests.service`."""

import json

from cosched_papers.fluid.kind import FLUID
from cosched_papers.fluid.settings import FluidSettings
from cosched_papers.heterogeneous.kind import HETEROGENEOUS
from cosched_papers.molding.kind import MOLDING
from cosched_papers.molding.settings import MoldingSettings, Sizing
from tests.papers.kinds import unlike_machines
from tests.service.meeting_world import MeetingWorld
from tests.service.world import Node, World


class FluidNode(Node):
    """Every other job can run on half of its nodes. It ends when its process does, whatever sizes it had.

    In domain b nodes change hands at once. In others no job leaves any before its end.
    """

    def _scheduler(self):
        made = FLUID.open(FluidSettings(10, slots=self.settings.slots))
        if self.name != "b":
            made.lag()
        return made

    kind = FLUID

    def columns(self, record):
        return json.dumps({"least": str((record.nodes + 1) // 2)}) if record.id % 2 else None


class FluidWorld(MeetingWorld):
    """All domains are fluid."""

    node_kind = FluidNode


class MoldingNode(Node):
    """Two of three jobs are moldable. It ends when its process does, whatever size it had."""

    kind = MOLDING

    def _scheduler(self):
        sizing = {"a": Sizing.SCOJO_P, "b": Sizing.CIRNE_BERMAN, "c": Sizing.SCOJO}[self.name]
        return MOLDING.open(MoldingSettings(10, sizing))

    def columns(self, record):
        return json.dumps({"moldable": "1"}) if record.id % 3 else None


class MoldingWorld(MeetingWorld):
    """All domains choose the sizes of jobs, each by other rules."""

    node_kind = MoldingNode


class HeterogeneousNode(Node):
    """Eight machines, and clusters of 2, 4 and 8. Domain a preempts; b places jobs at whole minutes only."""

    kind = HETEROGENEOUS

    def _scheduler(self):
        rules = {"preemptive": self.name == "a", "quantum": 60 * (self.name == "b")}
        made = HETEROGENEOUS.open(unlike_machines(**rules, slots=self.settings.slots, seconds=95))
        made.lag()
        return made

    def columns(self, record):
        size = 1 << (record.nodes.bit_length() - 1)  # up to so many machines
        return json.dumps({"job_class": str(size), "priority": ("high", "medium", "low")[record.id % 3]})


class HeterogeneousWorld(MeetingWorld):
    """All domains have machines that are not alike."""

    node_kind = HeterogeneousNode


OF_PAPERS: dict[str, type[World]] = {"fluid": FluidWorld, "molding": MoldingWorld, "heterogeneous": HeterogeneousWorld}
