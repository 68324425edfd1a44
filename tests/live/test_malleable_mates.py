"""A malleable job as a mate: two real services, a fluid and a batch one, with real processes (fluid.md, With mates)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cosched.client import Client
from tests.live.services import Pair, Service, noted, script_that_waits
from tests.live.test_malleable import APPLICATION, using
from tests.live.workloads import are_together
from tests.tiers import soaked
from tests.waiting import wait_until

Submit = Callable[[Client], str]


@pytest.fixture
def make_coupled(make_pair):
    """Makes a fluid domain, a, and a batch domain, b, with four nodes each."""

    def make(scheme: str) -> Pair:
        pair = make_pair(scheme=scheme)
        del pair.a.config["manager"]["policy"]
        pair.a.config["manager"]["scheduler"] = "fluid"
        return pair.start()

    return make


class World:
    """The services, and files whose presence ends jobs, or lets them adapt."""

    def __init__(self, pair: Pair) -> None:
        self.pair, folder = pair, pair.folder
        self.end, self.adapt = folder / "end", folder / "adapt"
        self.adapt.touch()

    def fills_the_machine(self, client: Client) -> str:
        """A malleable job that has all nodes of a."""
        job = client.submit(APPLICATION, self._files("first"), nodes=4, least=1, time_limit=600).id
        wait_until(lambda: using(client, job) == 4, "it uses all")
        return job

    def malleable_mate(self, client: Client) -> str:
        return client.submit(APPLICATION, self._files("mate"), nodes=3, least=2, time_limit=600, pair="p").id

    def rigid_mate(self, client: Client) -> str:
        script = script_that_waits(self.pair.folder, self.end)
        return client.submit(script, nodes=2, time_limit=600, pair="p").id

    def _files(self, name: str) -> list[str]:
        return [str(self.end), str(self.adapt)] if name == "mate" else [str(self.end) + name, str(self.adapt)]

    def end_all(self) -> None:
        for path in (self.end, Path(f"{self.end}first")):
            path.touch()


def state(client: Client, job: str) -> str:
    return client.job(job).state


def waits_for_its_mate(client: Client, job: str) -> bool:
    """Whether it has yielded: each time that it is ready it asks again, and keeps its reason meanwhile."""
    told = client.job(job)
    return (told.state, told.reason) == ("queued", "MateUnsubmitted")


def why_started(service: Service, job: str) -> str:
    with service.client() as client:
        events = client.events(0, kinds=["started"], until_now=True)
        (why,) = (event.detail["why"] for event in events if str(event.job).rpartition(":")[2] == job)
        return why


@pytest.mark.parametrize(
    "case",
    soaked([("malleable", "yield"), ("rigid", "hold"), ("malleable", "hold"), ("rigid", "yield")], 2),
    ids="-".join,
)
def test_a_pair_starts_together_when_its_malleable_mate_is_had_by_harvest(make_coupled, case: tuple[str, str]):
    """Ready, or asked for by its mate: it "is had by harvest", and "a job that needs a harvest yields instead"."""
    comes_last, scheme = case
    world = World(make_coupled(scheme))
    with world.pair.a.client() as a, world.pair.b.client() as b:
        first = world.fills_the_machine(a)
        if comes_last == "malleable":
            rigid = world.rigid_mate(b)
            wait_until(lambda: b.job(rigid).reason == "MateUnsubmitted", "it waits for its mate")
            mate = world.malleable_mate(a)
        else:
            mate = world.malleable_mate(a)
            wait_until(lambda: waits_for_its_mate(a, mate), "it waits for its mate")
            assert a.job(first).nodes == 4, "processors were taken to let them idle"
            rigid = world.rigid_mate(b)
        wait_until(lambda: state(a, mate) == state(b, rigid) == "running", "both start")
        wait_until(lambda: (using(a, first), using(a, mate)) == (2, 2), "the first one has given two nodes")
        world.end_all()
        wait_until(lambda: state(a, mate) == state(b, rigid) == state(a, first) == "completed", "all end")
    assert are_together([why_started(world.pair.a, mate), why_started(world.pair.b, rigid)])
    assert [start[:3] for start in noted(world.pair.folder)] == [("b", rigid, "p")]
    assert not world.pair.a.faults()
    assert not world.pair.b.faults()


def test_a_pair_keeps_its_start_when_the_fluid_domain_is_killed_during_the_harvest(make_coupled):
    """Its nodes are its own only after the job that gives them has said so; who is told, and what, is on record."""
    world = World(make_coupled("hold"))
    with world.pair.a.client() as a, world.pair.b.client() as b:
        first = world.fills_the_machine(a)
        world.adapt.unlink()
        mate, rigid = world.malleable_mate(a), world.rigid_mate(b)
        wait_until(lambda: state(a, mate) == state(b, rigid) == "running", "both start")
        wait_until(lambda: a.job(first).malleable.told_at, "the first one is told")
        world.pair.a.restart()
        assert (using(a, first), using(a, mate), state(a, mate)) == (4, 0, "running")
        world.adapt.touch()
        wait_until(lambda: (using(a, first), using(a, mate)) == (2, 2), "it gives two nodes")
        world.end_all()
        wait_until(lambda: state(a, mate) == state(b, rigid) == state(a, first) == "completed", "all end")
    assert are_together([why_started(world.pair.a, mate), why_started(world.pair.b, rigid)])
    assert not world.pair.a.faults()
