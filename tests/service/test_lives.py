"""Case 4 of a pair's whole life (life.md), which no replay has: a service is killed, and what it has missed is told."""

from functools import partial
from pathlib import Path

from cosched.core.protocol import named_group
from cosched.core.settings import CoschedulingSettings
from tests.service.job_records import queued
from tests.service.world import Node, domain_a

BEGIN = 1002  # when domains look for their peers, and each 10 s from then on
SETTINGS = CoschedulingSettings(mate_patience=160, peer_grace=120, release_jitter=0, max_held_fraction=1)


def submit(node: Node) -> None:
    """A job of a group that waits for a fourth one, which is not submitted."""
    others = tuple(name for name in "abcd" if name != node.name)
    record = queued(1, 6, 1000, node.world.now, named=named_group("g", others), domain=node.name)
    node.guarded(lambda: node._submit(record))


def kill(node: Node, until: int) -> None:
    """End its service as by a signal; it is started again at that instant."""
    node.end_for_good()
    node.store.close()
    node.world.at(until, node.begin)


def test_case_4_who_was_killed_and_has_missed_a_start_starts_when_it_is_back(tmp_path: Path) -> None:
    world = domain_a(tmp_path, SETTINGS, "abcd").world
    for node in [world.nodes[name] for name in "abc"]:
        node.run_for(1, 1000)
        node.expected.add("1")
        world.at(BEGIN + 10, partial(submit, node))
    world.at(BEGIN + 50, lambda: kill(world.nodes["b"], BEGIN + 300))
    world.run(until=BEGIN + 900)
    starts = {name: world.nodes[name].started_at["1"] - BEGIN for name in "abc"}
    assert starts == {"a": 170, "b": 300, "c": 170}
