"""Live domains with schedulers of each kind, in the worlds of `tests.service`: one seed is one history."""

from __future__ import annotations

import json
from collections import Counter

from tests.conformance.schedulers.kinds import example
from tests.installed import PAPERS
from tests.service.meeting_world import MeetingWorld
from tests.service.offered_meeting_world import SlotWorld
from tests.service.world import Node, World

if PAPERS:
    from tests.papers.worlds import OF_PAPERS


class ExpressNode(Node):
    """Its scheduler is that of the example, which preempts."""

    express = 30
    kind = example.EXPRESS

    def _scheduler(self):
        return example.EXPRESS.open(example.ExpressSettings(10, self.express, self.settings.slots))

    def columns(self, record):
        return json.dumps({"steady": "yes"}) if record.id % 4 == 3 else None

    def check_over(self) -> None:
        """What the scheduler keeps is what the stories tell, whatever was taken back."""
        super().check_over()
        told = Counter(event.job for event in self.store.events(0, [], [], 10**6) if event.what == "is queued again")
        assert told.total() == self.domain.scheduler.preempted
        assert not any(self.columns(self.store.job(job)) for job in told)


class ExpressWorld(MeetingWorld):
    """Domain a preempts; others are batch domains."""

    @staticmethod
    def node_kind(world, name, *rest) -> Node:
        return (ExpressNode if name == "a" else Node)(world, name, *rest)


WORLDS: dict[str, type[World]] = {
    "batch": MeetingWorld,
    "express": ExpressWorld,
    "external": SlotWorld,
    **(OF_PAPERS if PAPERS else {}),
}
