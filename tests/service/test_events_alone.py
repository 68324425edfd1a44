"""Live domains get on by events alone: without a periodic iteration no pair waits that could start."""

import random
from decimal import Decimal

import pytest

from cosched.core.settings import CoschedulingSettings
from tests.conformance.schedulers.histories import SCHEMES, run
from tests.service.world import Faults, Node, World
from tests.tiers import seeds

MACHINE = 10  # nodes
LONG_ENOUGH = 20_000  # seconds


@pytest.fixture
def make_world(tmp_path, monkeypatch):
    """Makes worlds without a periodic iteration."""
    monkeypatch.setattr(Node, "_look_round", lambda _: None)

    def make(seed: int, schemes, delay: int = 0) -> World:
        common = {"release_interval": 60, "max_held_fraction": Decimal(1)}
        settings = {n: CoschedulingSettings(scheme=s, **common) for n, s in zip("ab", schemes, strict=True)}
        return World(tmp_path, seed, settings, Faults(delay=delay))

    return make


def submit(node: Node, orders: list[str], run_time: int) -> None:
    """Pairs of jobs that need the whole machine, all at once, in this order."""
    for number, pair in enumerate(orders, 1):
        node.submit(number, MACHINE, run_time, pair)


@pytest.mark.parametrize("schemes", SCHEMES)
def test_domains_that_ask_each_other_for_different_pairs_at_the_same_moment(make_world, schemes):
    """When the first pair has ended, each domain has selected the job whose mate the other has not."""
    world = make_world(1, schemes)
    for node, order in zip(world.nodes.values(), ("xpq", "xqp"), strict=True):
        submit(node, list(order), run_time=20)
    run(world, LONG_ENOUGH)


@pytest.mark.parametrize("schemes", SCHEMES)
@pytest.mark.parametrize("seed", seeds(2, 20))
def test_answers_that_take_longer_than_an_iteration_waits(make_world, seed, schemes):
    world = make_world(seed, schemes, delay=3)
    draw = random.Random(seed)
    for node in world.nodes.values():
        submit(node, draw.sample("pqrstuvw", 8), run_time=5)
    run(world, LONG_ENOUGH)
