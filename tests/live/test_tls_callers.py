"""Callers of all kinds at a service's TLS listener: each may do what is his, and nothing else."""

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from cosched.certificates.pem import server_name
from cosched.client import Client, ClientError
from cosched.v1 import coscheduling_pb2 as wire
from cosched.v1 import domain_pb2, machines_pb2
from cosched.v1.coscheduling_pb2_grpc import CoschedulingServiceStub
from cosched.v1.domain_pb2_grpc import DomainServiceStub
from cosched.v1.machines_pb2_grpc import MachinesServiceStub
from tests.live.other_users import USERS as UNIX_USERS
from tests.live.other_users import a_public_folder, needs_root
from tests.live.secured import ME, SITE, USERS, channel_of, client_of, refusal, secure
from tests.live.services import Service, script_that_notes, wait_until
from tests.service.pki import Pki

NO_CONNECTION = ("UNAVAILABLE", "")
DENIED = "PERMISSION_DENIED"
ORDERS = ("TryStartMate", "StartJob", "ProposeGroupStart", "SettleGroupStart")


class World:
    """The service b, its peers a and c, of whom nobody is there, and a job of b's that holds: the mate of a's job 7."""

    def __init__(self, service: Service, pki: Pki, client: Client) -> None:
        self.service, self.pki, self.client = service, pki, client
        self.job = self.client.submit(script_that_notes(service.folder), mate="a:7")
        wait_until(lambda: self.client.job(self.job).state == "holding")
        self.mate = wire.JobRef(domain="a", job_id="7")
        self.other = wire.JobRef(domain="c", job_id="7")
        self.own = wire.JobRef(domain="b", job_id=self.job.id)

    def channel(self, files):
        return channel_of(self.service, self.pki.folder / "ca.pem", files)

    def refusals(self, channel, caller: wire.JobRef) -> set[tuple[str, str]]:
        """How the calls of domains are answered."""
        return {refusal(*call) for call in self.calls(channel, caller).items()}

    def calls(self, channel, caller: wire.JobRef) -> dict:
        """Stubs of the calls of domains, with what `caller` may ask about our job."""
        stub = CoschedulingServiceStub(channel)
        ask = {"job": self.own, "caller": caller}
        identity, later, last = (f"{caller.domain}/{caller.job_id}/{number}" for number in (1, 2, 3))
        later_on = {"lease": Duration(seconds=60), "not_before": Timestamp(seconds=4_000_000_000)}
        return {
            stub.GetMateJobId: wire.GetMateJobIdRequest(job=caller, mate=self.own, owner=self.job.owner),
            stub.GetMateStatus: wire.GetMateStatusRequest(**ask),
            stub.TryStartMate: wire.TryStartMateRequest(**ask, request_id=identity),
            stub.StartJob: wire.StartJobRequest(**ask, request_id=identity, hold_generation=1),
            stub.ProposeGroupStart: wire.ProposeGroupStartRequest(**ask, request_id=later, **later_on),
            stub.SettleGroupStart: wire.SettleGroupStartRequest(**ask, request_id=last),
        }

    def users_calls(self, channel) -> dict:
        """Stubs of all calls of users, with requests about our job."""
        stub, change = DomainServiceStub(channel), {"request_id": "1", "job": self.own}
        machines = MachinesServiceStub(channel)
        return {
            stub.SubmitJob: domain_pb2.SubmitJobRequest(request_id="1", script=b"#!/bin/sh\n"),
            stub.CancelJob: domain_pb2.CancelJobRequest(**change),
            stub.LinkJobs: domain_pb2.LinkJobsRequest(**change, mate={"job": self.mate}),
            stub.UnlinkJobs: domain_pb2.UnlinkJobsRequest(**change),
            stub.ReleaseHold: domain_pb2.ReleaseHoldRequest(**change),
            stub.GetJob: domain_pb2.GetJobRequest(job=self.own),
            stub.ListJobs: domain_pb2.ListJobsRequest(),
            stub.ListNodes: domain_pb2.ListNodesRequest(),
            stub.GetDomain: domain_pb2.GetDomainRequest(),
            _first_of(stub.WatchEvents): domain_pb2.WatchEventsRequest(),
            machines.ListMachines: machines_pb2.ListMachinesRequest(),
            machines.QuoteStart: machines_pb2.QuoteStartRequest(),
        }

    def audit(self) -> list[tuple[str, str, str, str]]:
        return self.service.rows("SELECT who, via, method, outcome FROM audit ORDER BY id")

    def is_untouched(self) -> bool:
        return self.client.job(self.job).state == "holding"


def _first_of(stream):
    return lambda request, timeout: next(stream(request, timeout=timeout))


@pytest.fixture
def world(make_service, pki):
    service = make_service("b", on_peer_unreachable="hold", release_interval=0)
    pki.files("b")
    secure(service, pki.folder, [make_service("a"), make_service("c")], user_identity=USERS, crl=str(pki.revoke()))
    del service.config["peer"][1]["owners"]  # the service's own user of c is nobody here, then
    with service.start().client() as client:
        yield World(service, pki, client)


def test_the_service_s_own_user_is_nobody_s_name_elsewhere_unless_owners_names_it(world):
    found = []
    for peer in "ac":
        asked = wire.GetMateJobIdRequest(job={"domain": peer, "job_id": "8"}, pair="none", owner=ME)
        with world.channel(world.pki.files(peer)) as channel:
            found.append(CoschedulingServiceStub(channel).GetMateJobId(asked))
    nobody = wire.GetMateJobIdResponse(lookup=wire.MATE_LOOKUP_NO_PAIR, problem=wire.MATE_PROBLEM_UNKNOWN)
    assert found == [wire.GetMateJobIdResponse(lookup=wire.MATE_LOOKUP_UNSUBMITTED), nobody]


def test_only_the_mates_own_domain_learns_of_a_job_and_can_start_it(world):
    with world.channel(world.pki.files("c")) as channel:
        answers = [call(request) for call, request in world.calls(channel, world.other).items()]
        assert answers == [
            wire.GetMateJobIdResponse(lookup=wire.MATE_LOOKUP_NO_PAIR, problem=wire.MATE_PROBLEM_UNKNOWN),
            wire.GetMateStatusResponse(status=wire.MATE_STATUS_UNKNOWN),
            wire.TryStartMateResponse(started=False),
            wire.StartJobResponse(started=False),
            wire.ProposeGroupStartResponse(vote=wire.GROUP_VOTE_NO),
            wire.SettleGroupStartResponse(current=False),
        ]
        assert world.refusals(channel, world.mate) == {(DENIED, "CALLER_NOT_PEER")}
    assert world.is_untouched()
    assert world.service.log.count(f"c:7 asks for job {world.job.id}, which is not its mate") == 6
    assert world.service.log.count("refused: c may not speak for jobs of a") == 1  # of six calls
    with world.channel(world.pki.files("a")) as channel:
        assert world.refusals(channel, world.mate) == {("OK", "")}
    wait_until(lambda: world.client.job(world.job).state == "completed")
    via = "certificate spiffe://site/cosched/"
    assert world.audit()[1:] == [
        *(("c", f"{via}c", call, "NO_MATE") for call in ORDERS),
        *(("c", f"{via}c", call, DENIED) for call in ORDERS),
        *(("a", f"{via}a", call, "OK") for call in ORDERS),
    ]


def test_who_has_no_certificate_of_the_authority_gets_no_connection(world, tmp_path):
    strangers = {
        "without a certificate": None,
        "of another authority": Pki(tmp_path / "other").files("a"),
        "expired": world.pki.made("late", [f"{SITE}a"], [server_name(f"{SITE}a")], begin=-3, end=-1),
    }
    for stranger, files in strangers.items():
        with world.channel(files) as channel:
            assert world.refusals(channel, world.mate) == {NO_CONNECTION}, stranger
    with grpc.insecure_channel(world.service.address) as channel:
        assert world.refusals(channel, world.mate) == {NO_CONNECTION}
    assert world.is_untouched()


def test_whoever_may_connect_may_ask_what_time_it_is(world):
    for name in ("a", "mira"):
        with world.channel(world.pki.files(name)) as channel:
            assert refusal(CoschedulingServiceStub(channel).CompareClocks, wire.CompareClocksRequest()) == ("OK", "")
    with world.channel(None) as channel:
        assert refusal(CoschedulingServiceStub(channel).CompareClocks, wire.CompareClocksRequest()) == NO_CONNECTION


def test_a_certificate_of_nobody_known_opens_nothing(world):
    with world.channel(world.pki.files("mira")) as channel:
        assert world.refusals(channel, world.mate) == {(DENIED, "PEER_UNKNOWN")}
        assert {refusal(*call) for call in world.users_calls(channel).items()} == {(DENIED, "USER_UNKNOWN")}
    assert world.is_untouched()
    assert f"certificate {SITE}mira is not a peer" in world.service.log


def test_a_revoked_certificate_opens_nothing_also_on_an_open_connection(world):
    with world.channel(world.pki.files("a")) as channel, world.channel(world.pki.files("ann", user=True)) as of_user:
        asked = CoschedulingServiceStub(channel).CompareClocks, wire.CompareClocksRequest()
        read = DomainServiceStub(of_user).GetDomain, domain_pb2.GetDomainRequest()
        assert [refusal(*call) for call in (asked, read)] == [("OK", "")] * 2
        world.pki.revoke("a", "ann")
        for call in (*world.calls(channel, world.mate).items(), asked, read):
            # The service may end the connection just then; the next call opens another.
            found = wait_until(lambda call=call: (found := refusal(*call)) != NO_CONNECTION and found)
            assert found == (DENIED, "CERTIFICATE_REVOKED")
    assert world.is_untouched()
    for name in ("a", "user/ann"):
        assert world.service.log.count(f"refused: certificate {SITE}{name} (serial number ") == 1


def test_a_peer_is_no_user_and_a_user_no_peer(world):
    with world.channel(world.pki.files("a")) as channel:
        assert {refusal(*call) for call in world.users_calls(channel).items()} == {(DENIED, "USER_UNKNOWN")}
    assert f"certificate {SITE}a is not a user" in world.service.log
    with world.channel(world.pki.files("ann", user=True)) as channel:
        assert world.refusals(channel, world.mate) == {(DENIED, "PEER_UNKNOWN")}
        own = wire.GetMateJobIdRequest(job=world.own)
        assert CoschedulingServiceStub(channel).GetMateJobId(own).mate == world.mate
    assert world.is_untouched()


def test_a_user_with_a_certificate_reads_all_and_changes_only_own_jobs(world):
    with client_of(world.service, world.pki.files("ann", user=True)) as ann:
        assert (ann.domain().name, [job.id for job in ann.jobs()]) == ("b", [world.job.id])
        assert len(list(ann.events(0, until_now=True))) > 1
        for change in (ann.cancel, ann.unlink, ann.release, lambda job: ann.link(job, pair="p")):
            with pytest.raises(ClientError) as caught:
                change(world.job)
            assert caught.value.reason == "NOT_OWNER"
    assert world.is_untouched()


@needs_root
def test_a_job_submitted_with_a_certificate_runs_as_its_user_who_can_cancel_it(world):
    user, other = UNIX_USERS
    with a_public_folder() as folder, client_of(world.service, world.pki.files(user, user=True)) as client:
        job = client.submit("#!/bin/sh\nid -un > who\nsleep 600\n", directory=folder)
        assert wait_until(lambda: (folder / "who").exists() and (folder / "who").read_text()) == f"{user}\n"
        with client_of(world.service, world.pki.files(other, user=True)) as another:
            with pytest.raises(ClientError) as caught:
                another.cancel(job)
            assert caught.value.reason == "NOT_OWNER"
        client.cancel(job)
        wait_until(lambda: client.job(job).state == "cancelled")
    assert (user, f"certificate {USERS}{user}", "CancelJob", "OK") in world.audit()
    assert (other, f"certificate {USERS}{other}", "CancelJob", DENIED) in world.audit()
