"""No pair comes apart because a service restarts: real processes, stopped, killed and started again."""

import json
import re
import signal

import pytest

from cosched.client import Client, Job
from tests.live.kill_campaign import campaign
from tests.live.services import Pair, Service, noted, script_that_notes, wait_until
from tests.live.workloads import MEETING, SCHEMES, contended, outcome, set_up
from tests.tiers import SEED, soaked

SLOTS = 6
LONG = 1800.0  # seconds for hundreds of jobs on a busy machine; a safety net


def text(client: Client, job: Job) -> str:
    """The job's story."""
    return "\n".join(event.text for event in client.events(0, [job], until_now=True))


GOODBYE = [
    ("info", "peer b says that it stops, and will be back soon"),
    ("info", "peer b is unreachable: it stopped at T, and said that it would be back"),
]


def logged_of_b(service: Service) -> list[tuple[str, str]]:
    """What it has logged of the peer, without instants."""
    lines = [json.loads(line) for line in service.log.splitlines() if line.startswith("{")]
    said = [(line["level"], re.sub(r" at [-\d]+ [:\d]+ UTC", " at T", line["event"])) for line in lines]
    return [(level, text) for level, text in said if text.startswith("peer b ")]


def acquainted(pair: Pair) -> None:
    """Wait until each domain has heard of the other."""
    for service, other in ((pair.a, "b"), (pair.b, "a")):
        wait_until(lambda service=service, other=other: f"peer {other} is reachable" in service.log)


@pytest.mark.parametrize(
    "case", soaked([("hold", "KILL"), ("yield", "TERM"), ("hold", "TERM"), ("yield", "KILL")], 2), ids="-".join
)
def test_a_job_that_waits_outlives_a_restart_of_its_mates_domain(make_pair, tmp_path, case):
    """The newcomer's case: "one second later eureka's job started: its mate's domain cannot be reached"."""
    scheme, number, stops = case[0], signal.Signals[f"SIG{case[1]}"], case[1] == "TERM"
    pair = make_pair(scheme=scheme, peer_grace="10m", release_interval="1m").start()
    acquainted(pair)
    script = script_that_notes(tmp_path)
    with pair.a.client() as a:
        first = a.submit(script, pair="climate", pair_domain="b")
        wait_until(lambda: a.job(first.id).state != "ready" and a.job(first.id).reason)
        pair.b.kill(number)
        wait_until(lambda: "peer b is unreachable" in pair.a.log)
        assert "waits until" in (said := pair.a.run("domains").stdout), said
        row = "^b +stopped .* and said that it would be back; " if stops else "^b +unreachable "
        assert re.search(row, said, re.MULTILINE), said
        *_, goodbye, gone = logged_of_b(pair.a)
        assert [goodbye, gone] == GOODBYE if stops else gone[0] == "warning"
        assert 'then starts alone (on_peer_unreachable = "start")' in said
        wait_until(lambda: scheme == "hold" or a.job(first.id).reason == "PeerAway", "it is asked for in vain")
        pair.b.start()
        with pair.b.client() as b:
            second = b.submit(script, pair="climate", pair_domain="a")
            wait_until(lambda: a.job(first.id).state == b.job(second.id).state == "completed")
        assert "cannot be reached" not in text(a, first)
    assert len(noted(tmp_path)) == 2


@pytest.mark.soak  # histories of conformance have outages within the grace
@pytest.mark.parametrize("schemes", [*SCHEMES, *MEETING], ids="-".join)
def test_no_pair_of_200_comes_apart_though_both_services_are_stopped_and_killed_every_few_seconds(make_pair, schemes):
    pairs, kills = 200, 60
    pair = set_up(make_pair(), SLOTS, schemes, peer_grace="30m", release_interval=3, max_held_fraction="0.75")
    for service in pair.both:
        service.config["domain"]["schedule_interval"] = "2s"
        service.config["coscheduling"]["peer_timeout"] = 10
    pair.start()
    acquainted(pair)
    campaign(pair, contended(SEED, pairs, pairs // 2), SEED, kills, (signal.SIGTERM, signal.SIGKILL), LONG)
    found = outcome(pair)
    assert found.alone() == {}
    assert found.states == {"completed": 2 * (pairs + pairs // 2)}
    assert len(found.whys) == pairs
    assert set(found.runs.values()) == {1}


@pytest.mark.parametrize("scheme", [pytest.param("hold", marks=pytest.mark.soak), "yield"])
def test_when_a_peer_never_comes_back_all_start_alone_after_the_grace_and_say_so(make_pair, tmp_path, scheme):
    settings = {"peer_grace": "3s", "max_held_fraction": 1, "release_interval": "1h"}
    pair = set_up(make_pair(), SLOTS, (scheme, scheme), **settings).start()
    acquainted(pair)
    with pair.a.client() as a:
        jobs = [a.submit(script_that_notes(tmp_path), pair=f"p{number}", pair_domain="b") for number in range(4)]
        wait_until(lambda: all(a.job(job.id).reason == "MateUnsubmitted" for job in jobs))
        pair.b.kill()
        wait_until(lambda: all(a.job(job.id).state == "completed" for job in jobs))
        for job in jobs:
            assert "started: its mate's domain cannot be reached; it has been away for " in text(a, job)
            (started,) = a.events(0, [job], ["started"], until_now=True)
            assert int(started.detail["away_s"]) >= 3
