"""No pair comes apart because a service restarts: real processes, stopped, killed and started again."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from cosched.client import Client, Job
from tests.live.services import Pair, noted, script_that_notes, wait_until


@pytest.fixture
def make(tmp_path):
    """Makes pairs of services."""
    made: list[Pair] = []

    def pair(**coscheduling: object) -> Pair:
        made.append(Pair(tmp_path, **{"release_interval": "1m", **coscheduling}))
        return made[-1]

    yield pair
    for each in made:
        each.clear()


def text(client: Client, job: Job) -> str:
    """The job's story."""
    return "\n".join(event.text for event in client.events(0, [job], until_now=True))


def acquainted(pair: Pair) -> None:
    """Wait until each domain has heard of the other."""
    for service, other in ((pair.a, "b"), (pair.b, "a")):
        wait_until(lambda service=service, other=other: f"peer {other} is reachable" in service.log)


@pytest.mark.parametrize("scheme", ["hold", "yield"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_job_that_waits_for_its_mate_outlives_a_restart_of_the_mates_domain(make, tmp_path: Path, scheme, number):
    """The newcomer's case: "one second later eureka's job started: its mate's domain cannot be reached"."""
    pair = make(scheme=scheme, peer_grace="10m").start()
    acquainted(pair)
    script = script_that_notes(tmp_path)
    with pair.a.client() as a:
        first = a.submit(script, pair="climate", pair_domain="b")
        wait_until(lambda: a.job(first.id).state != "ready" and a.job(first.id).reason)
        pair.b.kill(number)
        wait_until(lambda: "peer b is unreachable" in pair.a.log)
        wait_until(lambda: scheme == "hold" or a.job(first.id).reason == "PeerAway", "it is asked for in vain")
        pair.b.start()
        with pair.b.client() as b:
            second = b.submit(script, pair="climate", pair_domain="a")
            wait_until(lambda: a.job(first.id).state == b.job(second.id).state == "completed")
        assert "cannot be reached" not in text(a, first)
    assert len(noted(tmp_path)) == 2
