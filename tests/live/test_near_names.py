"""Three services, and names that one of two submissions has mistyped: both sides ask whether the other was meant."""

import getpass

import grpc
import pytest

from cosched.v1.coscheduling_pb2 import JobRef
from cosched.v1.domain_pb2 import SubmitJobRequest
from cosched.v1.domain_pb2_grpc import DomainServiceStub
from cosched.v1.explain_pb2 import ExplainJobsRequest, ExplainMatesRequest, MatePair, SoughtName
from cosched.v1.explain_pb2_grpc import ExplainServiceStub
from cosched.v1.job_pb2 import MateName

ME = getpass.getuser()
OTHER = "daemon"


@pytest.fixture
def trio(make_federation):
    """Domains a, b and c, each the others' peer."""
    return make_federation("abc", scheme="hold").start().services


def submitted(service, *options) -> list[str]:
    """What is said about the mates of a job."""
    result = service.run("submit", *options, "-", text="#!/bin/sh\nsleep 600\n")
    assert result.returncode == 0, result.stderr
    return result.stderr.splitlines()


def asked(service, owner: str, name: str, of_group: bool = False) -> str:
    """What a tells c of a name that a job of this owner's waits by, if c asks."""
    with grpc.insecure_channel(service.address) as channel:
        sought = SoughtName(owner=owner, name=name, of_group=of_group)
        pair = MatePair(job=JobRef(domain="a"), caller=JobRef(domain="c", job_id="9"), sought=sought)
        [told] = ExplainServiceStub(channel).ExplainMates(ExplainMatesRequest(pairs=[pair])).outlooks
        return told.near


def test_a_mistyped_name_is_asked_for_by_both_sides(trio):
    a, b, c = trio
    assert submitted(a, "--pair", "p1", "--pair-domain", "b") == ["its mate is not submitted yet to b"]
    said = f"pair p1 of {ME} waits on a for a mate on b; did you mean it? cosched link 1 --pair p1"
    assert submitted(b, "--pair", "P1", "--pair-domain", "a") == ["its mate is not submitted yet to a", said]
    assert submitted(c, "--pair", "P1", "--pair-domain", "a") == ["its mate is not submitted yet to a"]  # p1 is for b
    assert f"  near      {said}\n" in b.run("explain", "1").stdout
    said = f"pair P1 of {ME} waits on b for a mate on a; did you mean it? cosched link 1 --pair P1"
    assert f"near: {said}" in a.run("show", "1").stdout
    # a series of names, each with its mate, is no mistake
    for service, peer in ((a, "b"), (b, "a")):
        assert len(submitted(service, "--pair", "run7", "--pair-domain", peer)) == 1
    assert submitted(b, "--pair", "run8", "--pair-domain", "a") == ["its mate is not submitted yet to a"]
    # the name is corrected, and the domain stays
    linked = a.run("link", "1", "--pair", "P1")
    assert "b:1" in linked.stdout
    assert "did you mean" not in linked.stderr
    assert all(not service.faults() for service in trio)


def test_groups_and_what_others_may_know(trio):
    a, _, c = trio
    assert "did you mean" not in " ".join(submitted(a, "--group", "fluid", "--with", "b,c"))
    said = f"group fluid of {ME} waits on a for a member on c; did you mean it? cosched link 1 --group fluid --with a,b"
    assert said in submitted(c, "--group", "fliud", "--with", "a,b")
    assert (asked(a, ME, "fluids", of_group=True), asked(a, ME, "fluids")) == ("fluid", "")
    assert asked(a, OTHER, "fluids", of_group=True) == "", "it is not theirs"
    assert asked(a, ME, "fluid", of_group=True) == "", "it waits by this name"


def test_nobody_learns_the_names_of_others(trio):
    a, b, _ = trio
    mate = MateName(pair={"domain": "b", "name": "theirs"})
    request = SubmitJobRequest(request_id="r", script=b"#!/bin/sh\n", owner=OTHER, hold=True, mates=[mate])
    with grpc.insecure_channel(a.socket) as channel:
        DomainServiceStub(channel).SubmitJob(request, wait_for_ready=True)
    assert submitted(b, "--pair", "Theirs", "--pair-domain", "a") == ["its mate is not submitted yet to a"]
    with b.client() as client:
        assert client.explain("1").mates[0].near == ""
    submitted(a, "--pair", "mine", "--pair-domain", "b")
    submitted(b, "--pair", "mime", "--pair-domain", "a")
    with grpc.insecure_channel(b.address) as channel:  # somebody without a name
        jobs = ExplainJobsRequest(jobs=[JobRef(domain="b", job_id="2")])
        [told] = ExplainServiceStub(channel).ExplainJobs(jobs).explanations
        assert told.mates[0].near == ""
        assert "mine" not in told.mates[0].problem
