"""`cosched nodes` and `cosched domains`."""

import json

from cosched.v1.cluster_pb2 import NodeGroup
from cosched.v1.coscheduling_pb2 import JobRef
from tests.client.fake_domain import EPOCH


def test_nodes(cosched, domain):
    job = JobRef(domain="intrepid", job_id="17")
    domain.nodes = [
        NodeGroup(state=2, count=3, names=["n1", "n2", "n3"], job=job),
        NodeGroup(state=1, count=5),
        NodeGroup(state=4, count=1, names=["n9"], reason="fan\x07"),
    ]
    assert cosched("nodes").stdout == (
        "STATE  NODES  NODELIST  JOB          REASON\n"
        "busy       3  n[1-3]    intrepid:17\n"
        "idle       5\n"
        "down       1  n9                     fan\\x07\n"
    )
    assert json.loads(cosched("nodes", "--json").stdout)[0]["names"] == ["n1", "n2", "n3"]


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
    assert other.endswith("1.5 ms  127.0.0.1:7702  connection refused")
    shown = json.loads(cosched("domains", "--json").stdout)
    assert (shown["nodes"]["idle"], shown["peers"][0]["round_trip"]) == (3, 0.0015)


def test_a_domain_without_anything(cosched, domain):
    domain.domain.scheme = 3
    shown = cosched("domains").stdout
    assert "no coscheduling\nnodes: none\njobs: none\n" in shown
