"""Services that are killed again and again while they are busy lose nothing and start nothing twice."""

from dataclasses import replace

import pytest

from cosched.client import Event
from tests.live.kill_campaign import Seen, campaign
from tests.live.services import Pair, Service
from tests.live.workloads import Outcome, Sides, contended, outcome
from tests.tiers import SEED as SOAK_SEED

SEED = 20251121
KILLS = 8  # in each campaign
PAIRS, UNPAIRED = 36, 18
WORK = contended(SEED, PAIRS, UNPAIRED)
SLOTS = 6
RELEASE_INTERVAL = 2  # seconds; jitter included, a hold lasts at most a quarter more
LONG = 30  # seconds: a hold that outlasts a kill, however long a start takes; the other domain ends their deadlocks
SLACK = 60.0  # seconds by which a busy machine may be late; a safety net, not a measure
ALONE = "PeerUnreachable"
LATE = "its mate started before it: desynchronised"


@pytest.fixture
def killed(make_pair):
    """Lets a pair of these schemes go through a campaign: the pair and what was seen."""

    def run(
        first: str, second: str, unreachable: str, of_a: int = RELEASE_INTERVAL, work: Sides = WORK, seed: int = SEED
    ) -> tuple[Pair, Seen]:
        pair = configured(make_pair, RELEASE_INTERVAL, unreachable)
        pair.a.config["coscheduling"] |= {"scheme": first, "release_interval": of_a}
        pair.b.config["coscheduling"]["scheme"] = second
        return pair, campaign(pair.start(), work, seed, KILLS)

    return run


def configured(make_pair, release_interval: int, unreachable: str) -> Pair:
    pair = make_pair(
        release_interval=release_interval, max_held_fraction="0.75", on_peer_unreachable=unreachable,
        peer_patience="30s", peer_timeout=10,
    )  # fmt: skip
    for service in pair.both:
        service.config["manager"]["slots"] = SLOTS
    return pair


def test_killed_services_start_all_pairs_together_if_they_wait_for_each_other(killed):
    pair, seen = killed("hold", "hold", "hold", LONG)
    found = outcome(pair)
    assert_all_ran_once(seen, found)
    assert found.alone() == {}
    assert_holds_were_kept(pair, seen)
    assert any(len({outages for outages, _ in shown}) > 1 for shown in seen.holds.values()), "no hold met a kill"


@pytest.mark.soak
def test_killed_services_start_pairs_together_or_say_that_the_peer_was_away(killed):
    pair, seen = killed("hold", "yield", "start")
    found = outcome(pair)
    assert_all_ran_once(seen, found)
    assert_alone_only_while_the_peer_was_away(pair, seen, found)
    assert_holds_were_kept(pair, seen)


@pytest.mark.soak
@pytest.mark.parametrize("unreachable", ["hold", "start"])
@pytest.mark.parametrize("other", ["meet", "hold", "yield"])
def test_killed_services_that_meet_start_pairs_together_or_say_that_the_peer_was_away(killed, other, unreachable):
    """Jobs take seconds and may take twice as long, so that slots are agreed on, come earlier, and come."""
    work = contended(SOAK_SEED, PAIRS, UNPAIRED, seconds=3, time_limit=6)
    pair, seen = killed("meet", other, unreachable, work=work, seed=SOAK_SEED)
    found = outcome(pair)
    assert_all_ran_once(seen, found)
    if unreachable == "hold":
        assert found.alone() == {}
    assert_alone_only_while_the_peer_was_away(pair, seen, found)
    assert assert_slots_were_kept(pair, seen) > 0 or other != "meet"
    assert not pair.faults()


@pytest.mark.papers
@pytest.mark.soak
@pytest.mark.parametrize("other", ["hold", "yield"])
def test_killed_services_of_which_one_is_fluid_start_all_pairs_together(make_pair, other):
    """Malleable jobs give nodes, also to mates, while either domain is killed."""
    fixed = contended(SOAK_SEED, PAIRS, UNPAIRED, seconds=2)
    work = [replace(job, nodes=job.nodes + 1, least=1) if number % 2 else job for number, job in enumerate(fixed[0])]
    pair = configured(make_pair, LONG, "hold")
    pair.b.config["coscheduling"] |= {"scheme": other, "release_interval": RELEASE_INTERVAL}
    pair.a.schedule_by("fluid")
    seen = campaign(pair.start(), (work, fixed[1]), SOAK_SEED, KILLS)
    found = outcome(pair)
    assert_all_ran_once(seen, found)
    assert found.alone() == {}
    assert any("gives" in event.text for event in events(pair.a, "resized")), "no job gave nodes"
    assert not pair.faults()


def assert_all_ran_once(seen: Seen, found: Outcome) -> None:
    """No job was lost, doubled or started twice, as the records and the jobs' own notes tell."""
    jobs = PAIRS + UNPAIRED
    assert {domain: len(set(ids)) for domain, ids in seen.jobs.items()} == {"a": jobs, "b": jobs}
    assert found.states == {"completed": 2 * jobs}
    assert found.runs == {(domain, job): 1 for domain, ids in seen.jobs.items() for job in ids}


def assert_alone_only_while_the_peer_was_away(pair: Pair, seen: Seen, found: Outcome) -> None:
    for name, whys in found.alone().items():
        assert len(whys) == 2, (name, whys)
        assert ALONE in whys, (name, whys)
        assert set(whys) <= {ALONE, LATE}, (name, whys)
    for service, peer in ((pair.a, "b"), (pair.b, "a")):
        for event in events(service, "started"):
            if event.detail["why"] == ALONE:
                assert seen.was_away(peer, event.at.timestamp(), SLACK), (event.job, event.text)


def assert_holds_were_kept(pair: Pair, seen: Seen) -> None:
    """A hold was shown with one end only, and ended by then, or when its service was there again."""
    assert [hold for hold, shown in seen.holds.items() if len({end for _, end in shown}) > 1] == []
    for service in pair.both:
        ends: dict[str, int] = {}
        for event in events(service, "held", "released", "started", "ended"):
            until = ends.pop(event.job, None)
            if until is not None:
                assert event.at.timestamp() <= until + seen.longest_outage + SLACK, event.job
            if event.kind == "held":
                ends[event.job] = int(event.detail["until"])
        assert ends == {}


def assert_slots_were_kept(pair: Pair, seen: Seen) -> int:
    """A slot ended with a start, or was dropped, soon after its instant or when its service was there again.

    Returns how many there were.
    """
    slots = 0
    for service in pair.both:
        booked: dict[str, int] = {}
        for event in events(service, "slot", "started", "ended"):
            at = booked.pop(event.job, None)
            assert at is None or event.at.timestamp() <= at + seen.longest_outage + SLACK, event.text
            if event.kind == "slot" and "why" not in event.detail:
                booked[event.job] = int(event.detail["slot"])
                slots += 1
        assert booked == {}
    return slots


def events(service: Service, *kinds: str) -> list[Event]:
    with service.client() as client:
        return list(client.events(after=0, kinds=kinds, until_now=True))
