"""`cosched show`: all of a job, and its story."""

import json
import re

import pytest

from cosched.v1 import coscheduling_pb2 as wire
from cosched.v1 import domain_pb2, job_pb2
from tests.client.fake_domain import EPOCH, EUREKA_3

pytestmark = pytest.mark.usefixtures("utc")


def test_why_a_job_waits(cosched, domain):
    job = domain.add(name="flow", reason="MateUnsubmitted", nodes=4)
    job.time_limit.seconds = 5_400
    job.mates.add(lookup=wire.MATE_LOOKUP_UNSUBMITTED, name={"pair": {"domain": "eureka", "name": "run7"}})
    job.holds.yields = 2
    domain.happen(domain_pb2.EVENT_KIND_SUBMITTED, "submitted by alice", "17")
    domain.happen(domain_pb2.EVENT_KIND_SUBMITTED, "of another job", "18")
    domain.happen(domain_pb2.EVENT_KIND_YIELDED, "yields: its mate is not submitted yet", "17")
    assert cosched("show", "17").stdout == (
        "job         intrepid:17 flow\n"
        "owner       alice\n"
        "state       queued (MateUnsubmitted: its mate is not submitted yet)\n"
        "nodes       4\n"
        "time limit  1:30:00\n"
        "submitted   2026-01-01 00:00:00\n"
        "mate        its mate is not submitted yet to eureka; pair run7\n"
        "holds       held never (0 node-seconds), yielded 2 times\n"
        "\n"
        "2026-01-01 00:00:00  submitted by alice\n"
        "2026-01-01 00:00:02  yields: its mate is not submitted yet\n"
    )


def test_a_job_that_holds_and_one_that_has_ended(cosched, domain):
    holding = domain.add(state=job_pb2.JOB_STATE_HOLDING, reason="Held", node_names=["n1", "n2"], nodes=2)
    holding.holds.holds, holding.holds.held_node_seconds = 1, 1_200
    holding.holds.hold_until.seconds = EPOCH + 600
    mate = holding.mates.add(lookup=wire.MATE_LOOKUP_FOUND, status=wire.MATE_STATUS_QUEUING, job=EUREKA_3)
    mate.heard_at.seconds, mate.gap.seconds = EPOCH, 61
    shown = cosched("show", "intrepid:17").stdout
    assert "nodes       2 (n[1-2])\n" in shown
    assert "held once (1,200 node-seconds), yielded never; holds until 2026-01-01 00:10:00\n" in shown
    mate = next(line for line in shown.splitlines() if line.startswith("mate "))
    assert re.fullmatch(
        r"mate +its mate is eureka:3 \(queuing, as of \d+ d.* ago\); last heard 2026-01-01 00:00:00; "
        r"the job started 1:01 later", mate
    )  # fmt: skip
    assert shown.endswith("\nno events of it are kept\n")
    holding.holds.hold_forever = True
    assert "; holds without a time limit\n" in cosched("show", "17").stdout
    domain.add(state=job_pb2.JOB_STATE_FAILED, exit_code=3, reason="NonZeroExitCode")
    shown = cosched("show", "18").stdout
    assert "exit code   3\n" in shown
    assert "state       failed (NonZeroExitCode)\n" in shown


@pytest.mark.parametrize(
    ("lookup", "said"),
    [
        (wire.MATE_LOOKUP_UNSPECIFIED, "no answer came from eureka about its mate; pair p"),
        (wire.MATE_LOOKUP_UNSUBMITTED, "its mate was not submitted to eureka; pair p"),
        (
            wire.MATE_LOOKUP_NO_PAIR,
            "eureka knows no such pair: the job of pair p on eureka is not there, has ended, or is "
            "another job's mate or another user's; pair p",
        ),
    ],
)
def test_of_a_job_that_ended_without_its_mate_nothing_is_awaited_any_more(cosched, domain, lookup, said):
    ended = domain.add(state=job_pb2.JOB_STATE_COMPLETED)
    ended.ended_at.seconds = EPOCH
    ended.mates.add(lookup=lookup, name={"pair": {"domain": "eureka", "name": "p"}})
    assert f"mate        {said}\n" in cosched("show", "17").stdout


def test_what_happens_again_and_again_is_one_line(cosched, domain):
    domain.add()
    for _ in range(10):
        domain.happen(domain_pb2.EVENT_KIND_HELD, "holds 2 nodes until 00:01 at most: its mate queues", "17")
        domain.happen(domain_pb2.EVENT_KIND_RELEASED, "its hold is over", "17")
    story = cosched("show", "17").stdout.partition("\n\n")[2]
    assert story == ("2026-01-01 00:00:19  10 holds since 2026-01-01 00:00:00, each released: its mate queues\n")
    assert cosched("show", "17", "--all").stdout.count("its hold is over") == 10
    assert len(json.loads(cosched("show", "--json", "17").stdout)["events"]) == 20


def test_as_json(cosched, domain):
    domain.add()
    domain.happen(domain_pb2.EVENT_KIND_YIELDED, "yields", "17")
    shown = json.loads(cosched("show", "--json", "17").stdout)
    [event] = shown["events"]
    assert (shown["job"]["id"], event["sequence"], event["kind"]) == ("17", 1, "yielded")
    assert event["at"] == "2026-01-01T00:00:00Z"


def test_nothing_raw(cosched, domain):
    domain.add(name="\x1b[2J")
    domain.happen(domain_pb2.EVENT_KIND_STARTED, "as \x07 said", "17")
    shown = cosched("show", "17").stdout
    assert r"\x1b[2J" in shown
    assert r"as \x07 said" in shown


@pytest.mark.usefixtures("domain")
def test_no_such_job(refused):
    assert refused("show", "99", exit_code=1) == "there is no job 99"
    assert refused("show", "eureka:1", exit_code=1) == (
        "this is a job of another domain than intrepid, which was asked: name its own by --server ADDRESS"
    )
