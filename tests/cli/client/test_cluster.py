"""`cosched nodes` and `cosched domains`."""

import json
from datetime import UTC, datetime

import pytest

from cosched.cli.client.wording import local_time
from cosched.v1.cluster_pb2 import NodeGroup
from tests.client.fake_domain import EPOCH


def test_nodes(cosched, domain):
    domain.nodes = [
        NodeGroup(state=2, count=3, names=["n1", "n2", "n3"], job={"domain": "intrepid", "job_id": "17"}),
        NodeGroup(state=1, count=5),
        NodeGroup(state=4, count=1, names=["n9"], reason="fan\x07"),
    ]
    assert cosched("nodes").stdout == (
        "STATE  NODES  NODELIST  JOB          REASON\n"
        "busy       3  n[1-3]    intrepid:17\n"
        "idle       5\n"
        "down       1  n9                     fan\\x07\n"
    )
    busy, idle, _ = json.loads(cosched("nodes", "--json").stdout)
    assert (busy["names"], busy["job"], idle["job"]) == (["n1", "n2", "n3"], "intrepid:17", None)


def test_domains(cosched, domain):
    here = domain.domain
    here.scheme, here.nodes.idle, here.nodes.held, here.jobs.queued = 1, 3, 1, 1_200
    peer = here.peers.add(name="eureka", address="127.0.0.1:7702", state=2, problem="connection refused")
    peer.since.seconds, peer.round_trip.nanos = EPOCH, 1_500_000
    first, nodes, jobs, _, header, itself, other = cosched("domains").stdout.splitlines()
    assert first == "intrepid: cosched 0, local manager, scheme hold"
    assert nodes == "nodes: 3 idle, 1 held"
    assert jobs == "jobs: 1,200 queued"
    assert header.split("  ")[0] == "DOMAIN"
    assert itself.startswith("intrepid  serving")
    assert other.startswith("eureka    unreachable  ")
    assert other.endswith("1.5 ms  unknown  127.0.0.1:7702  connection refused")
    (shown,) = (found := json.loads(cosched("domains", "--json").stdout))["peers"]
    assert (found["nodes"]["idle"], shown["round_trip"]) == (3, 0.0015)
    assert (shown["clock_offset"], shown["clock_uncertainty"]) == (None, None)


def test_a_peer_that_has_said_goodbye_is_not_unreachable_but_stopped(cosched, domain):
    peer = domain.domain.peers.add(name="eureka", address="x:1", state=2, problem="stopped at 1970, and said ...")
    peer.since.seconds, peer.stopped_at.seconds, peer.back_by.seconds = EPOCH + 3600, EPOCH, EPOCH + 7200
    last = cosched("domains").stdout.splitlines()[-1]
    assert last.startswith(f"eureka    stopped  {local_time(datetime.fromtimestamp(EPOCH, UTC))}  ")
    (shown,) = json.loads(cosched("domains", "--json").stdout)["peers"]
    assert (shown["state"], shown["stopped_at"] < shown["back_by"]) == ("unreachable", True)


@pytest.mark.parametrize(
    ("scheme", "mate_budget", "share", "slots", "shown"),
    [
        (2, "0.5", "", True, "scheme meet"),
        (2, "0.5", "0.3", True, "scheme meet, mate_budget_share 0.3"),
        (2, "0.25", "", True, "scheme yield, mate_budget 0.25, slots on"),
        (1, "0.5", "", True, "scheme hold, mate_budget 0.5, slots on"),
        (2, "0", "", False, "scheme yield"),
        (2, "", "", False, "scheme yield"),  # a service of before
        (3, "", "", False, "no coscheduling"),
    ],
)
def test_how_pairs_of_a_domain_meet(cosched, domain, scheme, mate_budget, share, slots, shown):
    here = domain.domain
    here.scheme, here.mate_budget, here.mate_budget_share, here.slots = scheme, mate_budget, share, slots
    first, *counts = cosched("domains").stdout.splitlines()[:3]
    assert (first, counts) == (f"intrepid: cosched 0, local manager, {shown}", ["nodes: none", "jobs: none"])
    found = json.loads(cosched("domains", "--json").stdout)
    told = (found["mate_budget"], found["mate_budget_share"], found["slots"])
    assert told == (mate_budget or "0", share or "1", slots)


@pytest.mark.parametrize(
    ("offset", "uncertainty", "shown"),
    [
        (0.0012, 0.0003, "+1.2 ms ± 0.3 ms"),
        (-0.25, 0.0, "-250.0 ms ± 0.0 ms"),
        (0.0, 0.00004, "+0.0 ms ± 0.0 ms"),
        (-7200.0004, 1.5, "-7,200.000 s ± 1.500 s"),
    ],
)
def test_how_far_the_clock_of_a_peer_is_ahead(cosched, domain, offset, uncertainty, shown):
    clock = {"clock_offset": offset, "clock_uncertainty": uncertainty}
    domain.domain.peers.add(name="eureka", address="127.0.0.1:7702", state=1, **clock)
    assert cosched("domains").stdout.splitlines()[-1].endswith(f"{shown}  127.0.0.1:7702")
    (peer,) = json.loads(cosched("domains", "--json").stdout)["peers"]
    assert peer["state"] == "reachable"
    assert (peer["clock_offset"], peer["clock_uncertainty"]) == (pytest.approx(offset), pytest.approx(uncertainty))
