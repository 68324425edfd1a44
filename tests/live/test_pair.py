"""A pair of services and a job on each: the shortest tour."""

import getpass
from datetime import timedelta

import pytest

from tests.live.services import noted, script_that_notes, wait_until

USER = getpass.getuser()


def without_network(pair):
    """Let the services of a pair call each other by Unix sockets of their own; no port is open then."""
    for one, other in ((pair.a, pair.b), (pair.b, pair.a)):
        del one.config["domain"]["listen"], one.config["domain"]["plaintext"]
        socket = str(other.folder / f"{one.name}.in")
        called = {"address": f"unix:{socket}", "socket": f"{other.name}.in"}
        one.config["peer"] = [{"name": other.name, **called, "owners": {USER: USER}}]
    return pair


def done(service, *jobs):
    with service.client() as client:
        return all(client.job(job).state in ("completed", "failed", "cancelled") for job in jobs)


@pytest.mark.parametrize("scheme", ["hold", "yield", "meet"])
def test_two_jobs_with_a_pair_name_start_together(make_pair, scheme):
    pair = make_pair(scheme=scheme).start()
    script = script_that_notes(pair.folder)
    with pair.a.client() as a, pair.b.client() as b:
        first = a.submit(script, pair="p")
        assert first.mates[0].lookup == "unsubmitted"
        waiting = ("holding" if scheme == "hold" else "queued", "MateUnsubmitted")
        wait_until(lambda: ((job := a.job(first)).state, job.reason) == waiting, "it waits")
        second = b.submit(script, pair="p")
        assert second.mates[0].lookup == "found"
        wait_until(lambda: done(pair.a, first) and done(pair.b, second), "both ended")
        assert a.job(first).state == b.job(second).state == "completed"
        both = (a, first), (b, second)
        wait_until(lambda: all(client.job(job).mates[0].gap is not None for client, job in both), "both know the gap")
        assert abs(sum((client.job(job).mates[0].gap for client, job in both), timedelta())) < timedelta(seconds=1)
    assert sorted(start[:3] for start in noted(pair.folder)) == [("a", "1", "p"), ("b", "1", "p")]


def test_a_pair_of_domains_that_listen_at_unix_sockets_only(make_pair):
    pair = without_network(make_pair()).start()
    script = script_that_notes(pair.folder)
    with pair.a.client() as a, pair.b.client() as b:
        jobs = (pair.a, a.submit(script, pair="p")), (pair.b, b.submit(script, pair="p"))
        wait_until(lambda: all(done(service, job) for service, job in jobs), "both ended")
    assert sorted(start[:3] for start in noted(pair.folder)) == [("a", "1", "p"), ("b", "1", "p")]
    assert (pair.b.folder / "a.in").stat().st_mode & 0o777 == 0o600


def test_a_peer_is_known_by_the_user_who_opens_its_socket(make_pair):
    pair = without_network(make_pair())
    pair.a.config["peer"][0]["user"] = "nobody"  # b's service runs as another user
    pair.start()

    with pair.b.client() as client:
        client.submit(script_that_notes(pair.folder), pair="p", or_alone=True)
    wait_until(lambda: "is not a peer (socket uid" in pair.a.log, "b's questions are refused")
