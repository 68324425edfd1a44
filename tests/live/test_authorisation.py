"""Who may do what at the Unix socket, what is kept of it, and the limits of what is taken."""

import os
import re
from collections import Counter
from uuid import uuid4

import grpc
import pytest
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message

from cosched.client.connection import open_channel
from cosched.v1 import coscheduling_pb2, domain_pb2, job_pb2
from cosched.v1 import coscheduling_pb2 as wire
from cosched.v1.domain_pb2_grpc import DomainServiceStub
from tests.live.other_users import USERS, Outcome, a_public_folder, call, call_as, needs_root
from tests.live.secured import refusal
from tests.live.services import Service, free_port, wait_until

OPERATOR, OTHER = USERS
SCRIPT = b"#!/bin/sh\nsleep 600\n"
MOST_JOBS = 4
NODES = 8


@pytest.fixture
def service():
    """With one operator beside root, and a folder that everybody can enter."""
    with a_public_folder() as folder, Service(folder / "a", "a") as made:
        made.config["domain"] |= {"operators": [OPERATOR], "max_jobs_per_user": MOST_JOBS}
        made.config["manager"]["slots"] = NODES
        made.add_peer("b", f"127.0.0.1:{free_port()}")
        yield made.start()


@pytest.fixture
def stub(service):
    """For calls by this process, which is root's, or that of the user whose the service is."""
    with open_channel(grpc, service.socket, None) as channel:
        yield DomainServiceStub(channel)


def new_id() -> str:
    return f"request-{uuid4()}"


def submission(**fields) -> domain_pb2.SubmitJobRequest:
    return domain_pb2.SubmitJobRequest(**{"request_id": new_id(), "script": SCRIPT, **fields})


def own(job: str) -> wire.JobRef:
    return wire.JobRef(job_id=job)


def named(pair: str, domain: str = "") -> job_pb2.MateName:
    return job_pb2.MateName(pair=job_pb2.PairName(domain=domain, name=pair))


def changes(job: str) -> list[tuple[str, Message]]:
    """Everything that changes a job, its cancellation last."""
    ref = own(job)
    return [
        ("LinkJobs", domain_pb2.LinkJobsRequest(request_id=new_id(), job=ref, mate=named("p"))),
        ("UnlinkJobs", domain_pb2.UnlinkJobsRequest(request_id=new_id(), job=ref)),
        ("ReleaseHold", domain_pb2.ReleaseHoldRequest(request_id=new_id(), job=ref)),
        ("CancelJob", domain_pb2.CancelJobRequest(request_id=new_id(), job=ref)),
    ]


def fill_the_machine(service: Service, stub: DomainServiceStub) -> None:
    """With a job that runs, so that no other is given nodes, starts, and perhaps ends before it is asked for."""
    folder = str(service.folder)
    job = stub.SubmitJob(submission(nodes=NODES, working_directory=folder)).job.ref
    running = job_pb2.JOB_STATE_RUNNING
    wait_until(lambda: stub.GetJob(domain_pb2.GetJobRequest(job=job)).job.state == running, "it runs")


def audit(service: Service) -> list[tuple[str, str, str]]:
    return service.rows("SELECT who, method, outcome FROM audit ORDER BY id")


@needs_root
def test_a_user_changes_only_own_jobs_and_an_operator_all(service, stub):
    fill_the_machine(service, stub)
    roots = stub.SubmitJob(submission(hold=True)).job.ref.job_id
    denied = Outcome("PERMISSION_DENIED", "NOT_OWNER")
    submits, reads = ("SubmitJob", submission(owner="root")), ("GetJob", domain_pb2.GetJobRequest(job=own(roots)))
    *outcomes, read = call_as(OTHER, service.socket, [*changes(roots), submits, reads])
    assert outcomes == [denied] * 5
    assert (read.code, read.answer["job"]["state"]) == ("OK", "JOB_STATE_QUEUED")
    outcomes = call_as(OTHER, service.socket, [("SubmitJob", submission(hold=True)), *changes("3")])
    assert [outcome.reason for outcome in outcomes] == ["", "PEER_UNREACHABLE", "NOT_LINKED", "", ""]
    outcomes = call_as(OPERATOR, service.socket, [*changes(roots), ("SubmitJob", submission(owner=OTHER))])
    assert [outcome.reason for outcome in outcomes] == ["PEER_UNREACHABLE", "NOT_LINKED", "", "", ""]
    assert outcomes[-1].answer["job"]["owner"] == OTHER
    assert Counter(audit(service)) == Counter(
        [
            *[("root", "SubmitJob", "OK")] * 2,
            *((OTHER, method, "PERMISSION_DENIED") for method, _ in changes(roots)),
            (OTHER, "SubmitJob", "PERMISSION_DENIED"),
            *((user, "SubmitJob", "OK") for user in USERS),
            *((user, "LinkJobs", "UNAVAILABLE") for user in USERS),
            *((user, "UnlinkJobs", "FAILED_PRECONDITION") for user in USERS),
            *((user, method, "OK") for user in USERS for method in ("ReleaseHold", "CancelJob")),
        ]
    )


@needs_root
def test_only_operators_drain_and_resume_the_domain(service):
    orders = {
        "DrainDomain": domain_pb2.DrainDomainRequest(request_id=new_id()),
        "ResumeDomain": domain_pb2.ResumeDomainRequest(request_id=new_id()),
    }
    assert call_as(OTHER, service.socket, [*orders.items()]) == [Outcome("PERMISSION_DENIED", "NOT_OWNER")] * 2
    assert [outcome.code for outcome in call_as(OPERATOR, service.socket, [*orders.items()])] == ["OK", "OK"]
    ends = (OTHER, "PERMISSION_DENIED"), (OPERATOR, "OK")
    assert audit(service) == [(user, method, code) for user, code in ends for method in orders]


@needs_root
def test_a_job_runs_as_the_user_who_submitted_it(service):
    script = b"#!/bin/sh\nid -un > who.$COSCHED_JOB_ID\n"
    folder = str(service.folder.parent)
    for user in USERS:
        [outcome] = call_as(user, service.socket, [("SubmitJob", submission(script=script, working_directory=folder))])
        written = service.folder.parent / f"who.{outcome.answer['job']['ref']['job_id']}"
        assert wait_until(lambda written=written: written.exists() and written.read_text()) == f"{user}\n"
        assert written.owner() == user


INVALID = ("INVALID_ARGUMENT", "INVALID_FIELD")
BAD_SUBMISSIONS: list[tuple[str, dict[str, object], tuple[str, ...]]] = [
    ("no request id", {"request_id": ""}, (*INVALID, "request_id")),
    ("a request id that is too long", {"request_id": "x" * 257}, (*INVALID, "request_id")),
    ("a line break in the request id", {"request_id": "a\nb"}, (*INVALID, "request_id")),
    ("a line break in the name", {"name": "a\nb"}, (*INVALID, "name")),
    ("a name that is too long", {"name": "x" * 257}, (*INVALID, "name")),
    ("fewer than no nodes", {"nodes": -1}, (*INVALID, "nodes")),
    ("nodes beyond all machines", {"nodes": 1 << 62}, (*INVALID, "nodes")),
    ("more nodes than there are", {"nodes": NODES + 1}, ("FAILED_PRECONDITION", "JOB_TOO_LARGE", "")),
    ("no time", {"time_limit": Duration(seconds=0)}, (*INVALID, "time_limit")),
    ("less than no time", {"time_limit": Duration(seconds=-(1 << 60))}, (*INVALID, "time_limit")),
    ("too much time", {"time_limit": Duration(seconds=1 << 60)}, (*INVALID, "time_limit")),
    ("no script", {"script": b""}, (*INVALID, "script")),
    ("a script without an interpreter", {"script": b"sleep 1"}, (*INVALID, "script")),
    ("a script that is too long", {"script": b"#!/bin/sh\n" + b"#" * (1 << 20)}, (*INVALID, "script")),
    ("an argument that is too long", {"arguments": ["x" * 32769]}, (*INVALID, "arguments")),
    ("a zero character in an argument", {"arguments": ["a\0b"]}, (*INVALID, "arguments")),
    ("too many arguments", {"arguments": ["x"] * 4097}, (*INVALID, "arguments")),
    ("too many variables", {"environment": {str(n): "" for n in range(4097)}}, (*INVALID, "environment")),
    ("a variable with = in its name", {"environment": {"A=B": ""}}, (*INVALID, "environment")),
    ("a relative folder", {"working_directory": "here"}, (*INVALID, "working_directory")),
    ("two mates", {"mates": [named("p"), named("q")]}, ("INVALID_ARGUMENT", "TOO_MANY_MATES", "mates")),
    ("a mate without a name", {"mates": [job_pb2.MateName()]}, (*INVALID, "mates[0]")),
    ("an empty pair name", {"mates": [named("")]}, (*INVALID, "mates[0].pair.name")),
    ("a strange domain", {"mates": [named("p", "?")]}, (*INVALID, "mates[0].pair.domain")),
    ("an unknown domain", {"mates": [named("p", "c")]}, ("NOT_FOUND", "DOMAIN_NOT_FOUND", "")),
    ("an unknown user", {"owner": "no-such-user"}, ("FAILED_PRECONDITION", "MANAGER_REFUSED", "")),
    ("more than a message holds", {"script": b"#!" + b"#" * (3 << 20)}, ("RESOURCE_EXHAUSTED", "", "")),
]
OTHER_BAD_CALLS: list[tuple[str, Message, tuple[str, ...]]] = [
    ("GetJob", domain_pb2.GetJobRequest(), (*INVALID, "job.job_id")),
    ("GetJob", domain_pb2.GetJobRequest(job=own("7" * 100)), ("NOT_FOUND", "JOB_NOT_FOUND", "")),
    ("GetJob", domain_pb2.GetJobRequest(job=own("-1")), ("NOT_FOUND", "JOB_NOT_FOUND", "")),
    ("GetJob", domain_pb2.GetJobRequest(job=own("٣")), ("NOT_FOUND", "JOB_NOT_FOUND", "")),
    ("GetJob", domain_pb2.GetJobRequest(job={"domain": "b"}), ("INVALID_ARGUMENT", "WRONG_DOMAIN", "job.domain")),
    ("ListJobs", domain_pb2.ListJobsRequest(page_size=-1), (*INVALID, "page_size")),
    ("ListJobs", domain_pb2.ListJobsRequest(page_token="x"), (*INVALID, "page_token")),
    ("ListNodes", domain_pb2.ListNodesRequest(page_token="-1"), (*INVALID, "page_token")),
    ("CancelJob", domain_pb2.CancelJobRequest(job=own("1")), (*INVALID, "request_id")),
    ("LinkJobs", domain_pb2.LinkJobsRequest(request_id="x", job=own("1")), (*INVALID, "mate")),
]


def test_whatever_is_too_much_or_makes_no_sense_gets_one_clear_error(service, stub):
    said = {what: call(stub, "SubmitJob", submission(**fields))[:3] for what, fields, _ in BAD_SUBMISSIONS}
    assert said == {what: outcome for what, _, outcome in BAD_SUBMISSIONS}
    others = [call(stub, method, request)[:3] for method, request, _ in OTHER_BAD_CALLS]
    assert others == [outcome for *_, outcome in OTHER_BAD_CALLS]
    assert not stub.ListJobs(domain_pb2.ListJobsRequest()).jobs
    service.stop()  # by then refusals that are alike are counted
    ((refused,),) = service.rows("SELECT sum(times) FROM audit WHERE method = 'SubmitJob'")
    assert refused == len(BAD_SUBMISSIONS) - 1  # of a message that is too large nothing is read
    lines = [line for line in service.log.splitlines() if "SubmitJob of socket uid" in line]
    again = [int(number) for number in re.findall(r"\(and (\d+) times since\)", "\n".join(lines))]
    assert len(lines) - len(again) + sum(again) == refused
    assert len(lines) <= 2 * len({said[1] for *_, said in BAD_SUBMISSIONS})  # of each reason one, and one at the end


def test_scripts_take_so_much_at_most_and_nothing_once_their_jobs_have_ended(service, stub):
    service.stop()
    service.config["domain"]["max_script_bytes_per_user"] = 700_000
    service.start()
    big = [b"#!/bin/sh\n#" + os.urandom(450_000).hex().encode() for _ in range(4)]
    outcomes = [call(stub, "SubmitJob", submission(hold=True, script=script)) for script in big]
    assert [outcome.reason for outcome in outcomes] == ["", "", "TOO_MUCH_STORED", "TOO_MUCH_STORED"]
    service.restart()
    assert call(stub, "SubmitJob", submission(script=big[3]))[:2] == ("RESOURCE_EXHAUSTED", "TOO_MUCH_STORED")
    for _ in range(10):  # and so for ever
        jobs = stub.ListJobs(domain_pb2.ListJobsRequest()).jobs
        for job in jobs:
            assert call(stub, "CancelJob", domain_pb2.CancelJobRequest(request_id=new_id(), job=job.ref)).code == "OK"
        for script in big[:2]:
            assert call(stub, "SubmitJob", submission(hold=True, script=script)).code == "OK"
    service.stop()
    assert (service.folder / "state.db").stat().st_size < 5_000_000


def test_what_is_no_message_is_refused_by_every_call_and_logged_as_no_fault(service):
    for module, address in ((coscheduling_pb2, service.address), (domain_pb2, service.socket)):
        [described] = module.DESCRIPTOR.services_by_name.values()
        with open_channel(grpc, address, None) as channel:
            said = {method.name: refusal(raw_call(channel, method), b"\xff") for method in described.methods}
        assert said == {method.name: INVALID for method in described.methods}
    assert "exception" not in service.log


def raw_call(channel: grpc.Channel, method: MethodDescriptor):
    path = f"/{method.containing_service.full_name}/{method.name}"
    if method.name == "WatchEvents":
        return lambda content, timeout: next(channel.unary_stream(path)(content, timeout=timeout))
    return channel.unary_unary(path)


def test_a_user_has_so_many_jobs_at_most_and_a_request_id_one_meaning(stub):
    first, *others = (submission(hold=True) for _ in range(MOST_JOBS + 1))
    outcomes = [call(stub, "SubmitJob", request) for request in (first, *others)]
    assert [outcome.reason for outcome in outcomes] == [""] * MOST_JOBS + ["TOO_MANY_JOBS"]
    assert outcomes[-1].code == "RESOURCE_EXHAUSTED"
    assert stub.SubmitJob(first).job.ref.job_id == "1"
    cancelled = domain_pb2.CancelJobRequest(request_id=first.request_id, job=own("2"))
    assert call(stub, "CancelJob", cancelled)[:3] == ("INVALID_ARGUMENT", "INVALID_FIELD", "request_id")
    assert len(stub.ListJobs(domain_pb2.ListJobsRequest()).jobs) == MOST_JOBS
