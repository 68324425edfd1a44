"""`cosched drain` and `cosched resume`, and what peers are told: real services, peers and commands."""

import math
import subprocess
import time

import pytest

from tests.live.services import COMMAND, Service, noted, script_that_notes, script_that_waits, wait_until
from tests.live.test_peer_grace import acquainted, text

SETTLED = "no job here holds nodes for its mate"


@pytest.fixture
def pair(make_pair):
    made = make_pair(scheme="hold", peer_grace="10m", max_held_fraction=1)
    made.b.listen_to_http()
    return made.start()


def drained_until(service: Service) -> float:
    """What its metrics say."""
    return service.metrics()["cosched_drained_until_timestamp_seconds"]


def test_what_holds_is_given_back_and_peers_wait_over_the_maintenance(pair, tmp_path):
    acquainted(pair)
    script = script_that_notes(tmp_path)
    with pair.a.client() as a, pair.b.client() as b:
        held = b.submit(script, pair="climate", pair_domain="a")
        wait_until(lambda: b.job(held.id).state == "holding")
        done = pair.b.run("drain", "--for", "2h", "--settle", "1s")
        assert (done.returncode, SETTLED in done.stderr) == (0, True), done.stderr
        wait_until(lambda: b.job(held.id).reason == "Draining")
        assert "drains since" in pair.b.run("domains").stdout
        assert drained_until(pair.b) == pytest.approx(time.time() + 7200, abs=600)
        alone = b.submit(script)
        wait_until(lambda: b.job(alone.id).state == "completed", "jobs without mates run on")

        mate = a.submit(script, pair="climate", pair_domain="b")
        wait_until(lambda: a.job(mate.id).reason == "PeerDraining", "it holds nothing in vain")
        assert "drains, and makes no pairs until" in pair.a.run("domains").stdout

        pair.b.stop()
        wait_until(lambda: "a job that becomes ready waits until" in pair.a.run("domains").stdout)
        wait_until(lambda: a.job(mate.id).reason == "PeerAway")
        pair.b.start()
        assert b.domain().drain is not None  # over a restart
        wait_until(lambda: a.job(mate.id).reason == "PeerDraining")
        assert pair.b.run("resume").stdout == "b makes pairs again\n"
        assert pair.b.run("resume").stdout == "b did not drain: nothing has changed\n"
        assert math.isnan(drained_until(pair.b))
        wait_until(lambda: a.job(mate.id).state == b.job(held.id).state == "completed", text(a, mate))
        assert [record[2] for record in noted(tmp_path)].count("climate") == 2
        assert "cannot be reached" not in text(a, mate) + text(b, held)


def test_a_mate_that_can_come_comes_while_the_other_domain_settles(pair, tmp_path):
    acquainted(pair)
    script, go = script_that_notes(tmp_path), tmp_path / "go"
    with pair.a.client() as a, pair.b.client() as b:
        a.submit(script_that_waits(tmp_path, go), nodes=4)
        a.submit(script, pair="climate", pair_domain="b")
        held = b.submit(script, pair="climate", pair_domain="a")
        wait_until(lambda: b.job(held.id).state == "holding")
        command = [*COMMAND, "drain", "--settle", "1h", "--server", pair.b.socket]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as drain:
            assert "b drains" in drain.stderr.readline()
            assert f"waiting for job {held.id}" in drain.stderr.readline()
            assert b.domain().drain.waits_for == (f"b:{held.id}",)
            go.touch()
            assert SETTLED in drain.stderr.read()
        assert drain.returncode == 0
        wait_until(lambda: b.job(held.id).state == "completed")
        assert pair.b.run("drain").returncode == 0


def test_a_service_that_stops_says_goodbye_and_is_waited_for_from_then_on(pair, tmp_path):
    acquainted(pair)
    with pair.a.client() as a:
        mate = a.submit(script_that_notes(tmp_path), pair="climate", pair_domain="b")
        pair.b.stop()
        wait_until(lambda: "b is away, and waited for until" in told(a))
        assert "gets no answer" not in text(a, mate)
        pair.b.start()
        wait_until(lambda: "b is there" in told(a))


def told(client) -> str:
    """What happened in the domain."""
    return "\n".join(event.text for event in client.events(0, until_now=True))


def test_a_drain_for_ever_or_for_weeks_is_refused(pair):
    assert pair.a.run("drain", "--for", "never").returncode == 2
    refused = pair.a.run("drain", "--for", "8d", "--no-wait")
    assert refused.returncode == 1
    assert "cosched: --for: is at most 7 d (604,800 s), in whole seconds\n" in refused.stderr
    with pair.a.client() as a:
        assert a.domain().drain is None
