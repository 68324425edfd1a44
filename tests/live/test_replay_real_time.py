"""Services whose manager replays a trace by the wall clock, faster; their users see it as any other domain."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from cosched.client import Client
from tests.live.services import Pair, wait_until, whys

pytestmark = pytest.mark.sim  # which brings the manager

SPEED = 300
JOBS = 20
LONG = "long"  # a job of one test more


@pytest.fixture
def pair(make_pair) -> Pair:
    """Two domains with twenty jobs each, every other of which has a mate; time 0 of the traces is soon."""
    pair = make_pair(scheme="hold", release_interval="5m", on_peer_unreachable="hold")
    start = datetime.fromtimestamp(int(time.time()) + 3, UTC)
    pairs = pair.folder / "pairs.csv"
    for service, gap in ((pair.a, 20), (pair.b, 31)):
        rows = (f"{service.name}{i},{gap * i},{30 + i % 7 * 10},{1 + i % 4},120" for i in range(1, JOBS + 1))
        (service.folder / "trace.csv").write_text("\n".join(("job_id,submit,run,nodes,requested", *rows)))
        service.config["manager"] = {
            "kind": "replay", "trace": "trace.csv", "nodes": 10, "pairs": str(pairs), "clock": "real",
            "start": start.isoformat(), "speed": SPEED,
        }  # fmt: skip
    pairs.write_text("a,b\n" + "".join(f"a{i},b{i}\n" for i in range(1, JOBS + 1, 2)))
    pair.start_of_traces = start
    return pair


def ended(service):
    with service.client() as client:
        jobs = {job.name: job for job in client.jobs(states=["completed", "failed", "cancelled"]) if job.name != LONG}
    return jobs if len(jobs) == JOBS else None


def check(pair: Pair) -> None:
    """All jobs ran once, as long as in the trace, and those with mates not without them."""
    found = [wait_until(lambda s=service: ended(s), f"the jobs of {service.name}") for service in pair.both]
    for i in range(1, JOBS + 1):
        a, b = (jobs[f"{name}{i}"] for name, jobs in zip("ab", found, strict=True))
        assert a.state == b.state == "completed"
        assert a.submitted_at == pair.start_of_traces + timedelta(seconds=20 * i)
        assert a.ended_at - a.started_at >= timedelta(seconds=30 + i % 7 * 10 - 1)
        if i % 2:
            assert [str(mate.pair) for mate in a.mates] == [str(i // 2 + 1)]
            for service, job in zip(pair.both, (a, b), strict=True):
                assert "desynchronised" not in whys(service, job)[0]


def test_both_traces_are_replayed_and_mates_start_together(pair):
    pair.start()
    with pair.a.client() as client:
        assert client.domain().manager == "replay"
    check(pair)


def test_a_service_that_was_killed_goes_on_with_its_trace(pair):
    with (pair.b.folder / "trace.csv").open("a") as trace:
        trace.write(f"\n{LONG},0,9000000,1,9000000")  # more than eight hours, even at this speed
    pair.start()
    with pair.b.client() as client:
        (long,) = wait_until(lambda: running(client, LONG), "a job runs that does not end by itself")
    pair.b.restart()
    with pair.b.client() as client:
        assert running(client, LONG) == [long]
        client.cancel(long)
    check(pair)


def running(client: Client, name: str) -> list[str]:
    """The ids of the running jobs of this name."""
    return [job.id for job in client.jobs(states=["running"]) if job.name == name]


def test_users_cannot_submit_to_it(pair):
    pair.a.start()
    refused = pair.a.run("submit", "-", text="#!/bin/sh\n")
    assert refused.returncode == 1
    assert "come from a trace" in refused.stderr
