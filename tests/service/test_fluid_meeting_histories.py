"""Histories of live domains with fluid schedulers that agree on slots: fluid.md, Slots. As `test_meeting_histories`.

Every other job can run on half of its nodes. Jobs end when their processes do, whatever sizes they had: later or
earlier than their scheduler expects.
"""

from __future__ import annotations

import pytest

from cosched.core.allocation import Malleable
from cosched.core.scheduling.fluid.meeting import fluid_cluster
from cosched.core.scheduling.fluid.settings import FluidSettings
from cosched.core.settings import OnUnreachable, Scheme
from cosched.service.domain.sizing import as_text
from tests.service.test_histories import MEET, check_every_job_ran_once, pairs_of, started_alone, worlds
from tests.service.test_meeting_histories import MeetingWorld
from tests.service.world import Faults, Node
from tests.tiers import seeds, soaked

SCHEMES = soaked([(MEET, MEET), (MEET, Scheme.HOLD), (Scheme.YIELD, MEET), (Scheme.HOLD, Scheme.YIELD)], 1)


class FluidNode(Node):
    """A domain whose running jobs change their size."""

    def _scheduler(self):
        return fluid_cluster(FluidSettings(10, slots=self.settings.slots))

    def malleable(self, record):
        return as_text(Malleable((record.nodes + 1) // 2)) if record.id % 2 else None


class FluidWorld(MeetingWorld):
    """Both domains are fluid."""

    node_kind = FluidNode


@pytest.fixture
def world(tmp_path):
    """Makes worlds."""
    with worlds(tmp_path, FluidWorld) as make:
        yield make


def check_nothing_is_left(made: FluidWorld) -> None:
    check_every_job_ran_once(made)
    assert [node.domain.scheduler.free for node in made.nodes.values()] == [10, 10]


@pytest.mark.parametrize("schemes", SCHEMES)
@pytest.mark.parametrize("seed", seeds(2, 50))
def test_without_faults_mates_start_at_the_same_instant(world, seed, schemes):
    made = world(seed, schemes, Faults())
    made.run()
    check_nothing_is_left(made)
    for pair in pairs_of(made).values():
        assert len({made.nodes[name].started_at[job] for name, job in pair.items()}) == 1


@pytest.mark.parametrize("schemes", SCHEMES)
@pytest.mark.parametrize("seed", seeds(2, 100))
def test_domains_are_killed_at_any_point_and_messages_are_lost_and_doubled(world, seed, schemes):
    """coscheduling.md, What must always hold, 1 and 5: no job starts twice, none is lost."""
    made = world(seed, schemes, Faults(lose=0.1, duplicate=0.2, delay=4, kill=0.03), peer_patience=20)
    made.run()
    check_nothing_is_left(made)


@pytest.mark.parametrize("schemes", SCHEMES)
@pytest.mark.parametrize("seed", seeds(2, 100))
def test_with_patience_enough_no_fault_lets_a_job_start_alone(world, seed, schemes):
    """2: where mates do not start together, a fault was in force; here no job gives up on its mate for one."""
    patient = {"on_peer_unreachable": OnUnreachable.HOLD, "peer_patience": 10**5}
    made = world(seed, schemes, Faults(lose=0.05, duplicate=0.2, delay=2, kill=0.02, outage=30), **patient)
    made.run()
    check_nothing_is_left(made)
    assert started_alone(made) == []
