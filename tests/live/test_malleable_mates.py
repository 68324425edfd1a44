"""A malleable job as a mate: two real services, a fluid and a batch one, with real processes (fluid.md, With mates)."""

import pytest

from cosched.client import Client
from tests.live.services import Pair, noted, script_that_waits, whys
from tests.live.test_malleable import APPLICATION, Application, using
from tests.live.workloads import are_together
from tests.tiers import soaked
from tests.waiting import wait_until

pytestmark = pytest.mark.papers


@pytest.fixture
def make_coupled(make_pair):
    """Makes a fluid domain, a, and a batch domain, b, with four nodes each."""

    def make(scheme: str, **settings: object) -> World:
        pair = make_pair(scheme=scheme)
        pair.a.schedule_by("fluid", **settings)
        return World(pair.start())

    return make


class World:
    """The services, an application that fills the machine a first, and a file whose presence ends other jobs."""

    def __init__(self, pair: Pair) -> None:
        self.pair, self.first = pair, Application(pair.folder)
        self.end, self.adapt = pair.folder / "end", self.first.adapt

    def malleable_mate(self, client: Client) -> str:
        files = [str(self.end), str(self.adapt)]
        return client.submit(APPLICATION, files, nodes=3, least=2, time_limit=600, pair="p").id

    def rigid_mate(self, client: Client) -> str:
        script = script_that_waits(self.pair.folder, self.end)
        return client.submit(script, nodes=2, time_limit=600, pair="p").id

    def pair_beside_one_that_never_adapts(self, a: Client, b: Client) -> list[str]:
        self.adapt.unlink()
        script = script_that_waits(self.pair.folder, self.end)
        return [client.submit(script, nodes=nodes, time_limit=600, pair="p").id for client, nodes in ((a, 2), (b, 1))]

    def end_all(self) -> None:
        for path in (self.end, self.first.one):
            path.touch()


def state(client: Client, job: str) -> str:
    return client.job(job).state


def waits_for_its_mate(client: Client, job: str) -> bool:
    """Whether it has yielded: each time that it is ready it asks again, and keeps its reason meanwhile."""
    told = client.job(job)
    return (told.state, told.reason) == ("queued", "MateUnsubmitted")


@pytest.mark.parametrize(
    "case",
    soaked([("malleable", "yield"), ("rigid", "hold"), ("malleable", "hold"), ("rigid", "yield")], 2),
    ids="-".join,
)
def test_a_pair_starts_together_when_its_malleable_mate_is_had_by_harvest(make_coupled, case: tuple[str, str]):
    """Ready, or asked for by its mate: it "is had by harvest", and "a job that needs a harvest yields instead"."""
    comes_last, scheme = case
    world = make_coupled(scheme)
    with world.pair.a.client() as a, world.pair.b.client() as b:
        first = world.first.submit(a)
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
    assert are_together(whys(world.pair.a, mate) + whys(world.pair.b, rigid))
    assert [start[:3] for start in noted(world.pair.folder)] == [("b", rigid, "p")]
    assert not world.pair.faults()


def test_a_pair_starts_once_a_job_has_given_its_nodes_though_the_fluid_domain_is_killed_meanwhile(make_coupled):
    """ "A job with mates starts only on nodes that are free": who is told to give them, and what, is on record."""
    world = make_coupled("hold")
    with world.pair.a.client() as a, world.pair.b.client() as b:
        first = world.first.submit(a)
        world.adapt.unlink()
        mate, rigid = world.malleable_mate(a), world.rigid_mate(b)
        wait_until(lambda: a.job(first).malleable.told_at, "the first one is told")
        wait_until(lambda: state(b, rigid) == "holding", "its mate holds")
        world.pair.a.restart()
        assert (using(a, first), using(a, mate), state(a, mate)) == (4, 0, "queued")
        world.adapt.touch()
        wait_until(lambda: state(a, mate) == state(b, rigid) == "running", "both start")
        wait_until(lambda: (using(a, first), using(a, mate)) == (2, 2), "it gives two nodes")
        world.end_all()
        wait_until(lambda: state(a, mate) == state(b, rigid) == state(a, first) == "completed", "all end")
    assert are_together(whys(world.pair.a, mate) + whys(world.pair.b, rigid))
    assert not world.pair.a.faults()


def test_case_7_nobody_starts_before_a_job_that_never_adapts_is_gone(make_coupled):
    """A pair's whole life, case 7: "`on_resize_ignored = "wait"`: nobody starts before the job of 4 ends"."""
    world = make_coupled("hold", resize_patience=1)
    pair = world.pair
    with pair.a.client() as a, pair.b.client() as b:
        first = world.first.submit(a)
        here, there = world.pair_beside_one_that_never_adapts(a, b)
        wait_until(lambda: state(b, there) == "holding", "it holds for its mate")
        wait_until(lambda: "goes on waiting" in pair.a.run("show", first).stdout, "the first one is asked twice")
        assert (state(a, here), state(b, there)) == ("queued", "holding")
        assert noted(pair.folder) == []
        assert "gets 2 nodes of job 1" in pair.a.run("show", here).stdout
        assert "waits until running jobs have left what they give it" in pair.a.run("explain", here).stdout
        world.first.one.touch()
        wait_until(lambda: len(noted(pair.folder)) == 2, "both start when it is gone")
        assert (state(a, here), state(b, there)) == ("running", "running")
        assert "booked 0.0" in pair.a.run("efficiency", here).stdout
        world.end_all()
        wait_until(lambda: state(a, here) == state(b, there) == "completed", "all end")
    assert not pair.a.faults()


def test_case_7_a_job_that_never_adapts_is_ended_and_the_pair_starts_when_it_is_gone(make_coupled):
    """A pair's whole life, case 7: "`"end"`, with a `resize_patience` ...: both start when it is gone"."""
    world = make_coupled("hold", resize_patience=1, on_resize_ignored="end")
    pair = world.pair
    with pair.a.client() as a, pair.b.client() as b:
        first = world.first.submit(a)
        here, there = world.pair_beside_one_that_never_adapts(a, b)
        wait_until(lambda: len(noted(pair.folder)) == 2, "both start when it is gone")
        assert (state(a, first), state(a, here), state(b, there)) == ("cancelled", "running", "running")
        world.end_all()
        wait_until(lambda: state(a, here) == state(b, there) == "completed", "all end")
    assert are_together(whys(pair.a, here) + whys(pair.b, there))
    assert not pair.a.faults()
