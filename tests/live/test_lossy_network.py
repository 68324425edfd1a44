"""Two real services and a network between them that loses what it likes."""

import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from cosched.client import Client, Job
from tests.live.services import Pair, noted, script_that_notes, wait_until, whys
from tests.live.workloads import RUN_PATIENCE
from tests.service.faulty_proxy import BLACK_HOLE, PASS, REFUSE, SWALLOW_REPLIES, Fault, FaultyProxy
from tests.tiers import SEED, soaked

TOGETHER = {"its mate could start", "its holding mate started", "asked by a", "asked by b"}
FAULTS = (PASS, PASS, REFUSE, BLACK_HOLE, SWALLOW_REPLIES, Fault(delay=0.3), Fault(cut_after=100))
A_REPLY = 40  # bytes, about


class World:
    """A pair of services, each of which reaches the other through a network of its own."""

    def __init__(self, pair: Pair, networks: tuple[FaultyProxy, FaultyProxy], a: Client, b: Client) -> None:
        self.pair, self.networks, self.a, self.b = pair, networks, a, b
        self._script = script_that_notes(pair.folder)
        self.jobs: list[tuple[Client, Job]] = []

    def submit(self, client: Client, name: str) -> Job:
        self.jobs.append((client, client.submit(self._script, pair=name)))
        return self.jobs[-1][1]

    def have(self, *faults: Fault) -> None:
        """For calls of a, and of b."""
        for network, fault in zip(self.networks, faults, strict=True):
            network.set(fault)

    def starts(self) -> list[str]:
        """Why the jobs started, once all have; each has done so once, as it has noted itself too."""
        for client, job in self.jobs:
            wait_until(lambda a=client, job=job: a.job(job).state == "completed", f"{job} has run", RUN_PATIENCE)
        starts = Counter(start[:2] for start in noted(self.pair.folder))
        assert starts == {(job.domain, job.id): 1 for _, job in self.jobs}
        services = {service.name: service for service in self.pair.both}
        return [why for _, job in self.jobs for (why,) in [whys(services[job.domain], job)]]


@pytest.fixture
def make_world(make_pair) -> Iterator:
    with ExitStack() as stack:

        def make(**coscheduling) -> World:
            pair = make_pair(scheme="hold", release_interval=1, **coscheduling)
            networks = tuple(stack.enter_context(FaultyProxy(service.address)) for service in reversed(pair.both))
            for service, network in zip(pair.both, networks, strict=True):
                service.config["peer"][0]["address"] = network.address
                service.config["manager"]["slots"] = 8
            return World(pair.start(), networks, *(stack.enter_context(service.client()) for service in pair.both))

        yield make


@pytest.mark.soak  # the weather of the next test cuts, too
def test_a_connection_that_breaks_after_any_number_of_bytes_starts_nothing_twice(make_world):
    world = make_world(release_jitter=0)
    for number in range(10):
        waiting = world.submit(world.b, str(number))
        wait_until(lambda waiting=waiting: world.b.job(waiting).state == "holding", "it waits for its mate")
        world.have(Fault(cut_after=number * A_REPLY), PASS)
        job = world.submit(world.a, str(number))
        wait_until(lambda job=job: heard_nothing(world.a, job) or world.a.job(job).state == "completed", "it asks")
        world.have(PASS, PASS)
        wait_until(lambda waiting=waiting: world.b.job(waiting).state == "completed", "both run")
    whys = world.starts()
    for why, other in zip(whys[::2], whys[1::2], strict=True):
        assert {why, other} <= TOGETHER or "PeerUnreachable" in (why, other), (why, other)


def heard_nothing(client: Client, job: Job) -> bool:
    told = client.events(0, [job], ["peer"], until_now=True)
    return any("gets no answer" in event.text for event in told)


@pytest.mark.parametrize("of", soaked([(7, 6), (SEED, 24)], 1), ids=str)
def test_with_enough_patience_all_pairs_start_together_whatever_the_network_does(make_world, of):
    seed, pairs = of
    world = make_world(on_peer_unreachable="hold", peer_patience=1000, peer_timeout=1, max_held_fraction=1)
    choose = random.Random(seed)
    for number in range(2 * pairs):
        name = str(number // 2)
        world.submit((world.a, world.b)[number % 2], name)
        world.have(choose.choice(FAULTS), choose.choice(FAULTS))
        time.sleep(0.3)  # how long this weather lasts
    world.have(PASS, PASS)
    assert set(world.starts()) <= TOGETHER
