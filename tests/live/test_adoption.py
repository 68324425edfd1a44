"""Adoption by consent: a peer that lies has none but the jobs whose owners, or whose domain, let it have them."""

import getpass
from collections.abc import Iterator

import grpc
import pytest
from google.protobuf.message import Message

from cosched.client import ClientError
from cosched.v1 import coscheduling_pb2 as wire
from cosched.v1.coscheduling_pb2_grpc import CoschedulingServiceStub
from tests.live.services import PATIENCE, Service, fill, script_that_notes, wait_until

ME = getpass.getuser()
UNKNOWN = {"lookup": wire.MATE_LOOKUP_NO_PAIR, "problem": wire.MATE_PROBLEM_UNKNOWN}
NO_MATE, NO_MEMBER = wire.GetMateJobIdResponse(**UNKNOWN), wire.GetMemberResponse(**UNKNOWN)


class Liar:
    """Domain b, which asks service a for whatever it likes; nobody serves there."""

    def __init__(self, channel: grpc.Channel) -> None:
        self._stub = CoschedulingServiceStub(channel)

    def mate(self, job: str, owner: str = ME, caller: str = "9") -> Message:
        mate = wire.JobRef(domain="a", job_id=job)
        asked = wire.GetMateJobIdRequest(job={"domain": "b", "job_id": caller}, mate=mate, owner=owner)
        return self._stub.GetMateJobId(asked, timeout=PATIENCE)

    def member(self, job: str, owner: str = ME, group: str = "gg") -> Message:
        caller, member = {"domain": "b", "job_id": "9"}, {"domain": "a", "job_id": job}
        asked = wire.GetMemberRequest(job=caller, group=group, domains=["a", "b", "n"], owner=owner, member=member)
        return self._stub.GetMember(asked, timeout=PATIENCE)


@pytest.fixture
def service(make_service) -> Service:
    """Domain a, not started yet."""
    found = make_service("a", scheme="hold", on_peer_unreachable="hold")
    found.add_peer("b", "127.0.0.1:1")
    return found


@pytest.fixture
def liar(service: Service) -> Iterator[Liar]:
    with grpc.insecure_channel(service.start().address) as channel:
        yield Liar(channel)


def audited(service: Service) -> list[tuple[str, str, str, str, str]]:
    return service.rows("SELECT who, method, job, outcome, detail FROM audit WHERE detail LIKE 'adopted%' ORDER BY id")


def test_a_peer_that_tries_all_numbers_cannot_tell_any_job_from_none(service, liar):
    script = script_that_notes(service.folder)
    with service.client() as client:
        ended = client.submit(script)
        wait_until(lambda: client.job(ended).state == "completed")
        fill(service)  # it runs
        client.submit(script)
        client.submit(script, hold=True)
        client.submit(script, hold=True, adoptable=True)
        client.cancel(client.submit(script))
        client.submit(script, pair="p", pair_domain="b")
        service.restart()
        for job in range(1, 10):
            if job == 7:
                continue  # it names the peer's domain, which may hear so
            for owner in (ME, "nobody", "root's friend"):
                assert liar.mate(str(job), owner) == NO_MATE
                assert liar.member(str(job), owner) == NO_MEMBER
        assert liar.mate("7", "nobody") == NO_MATE
        assert liar.mate("7").problem == wire.MATE_PROBLEM_NAMES_PAIR
        assert all(not client.job(str(job)).mates and client.job(str(job)).group is None for job in range(1, 7))
    assert audited(service) == []
    assert service.faults() == []


@pytest.mark.parametrize("form", ["mate", "member"])
def test_a_job_whose_owner_lets_it_be_adopted_is_and_its_owner_and_the_audit_hear_so(service, liar, form):
    with service.client() as client:
        go = fill(service)
        job = client.submit(script_that_notes(service.folder), adoptable=True)
        assert client.job(job).adoptable
        assert "adoptable   yes" in service.run("show", job.id).stdout
        service.restart()
        assert getattr(liar, form)(job.id, "eve").lookup == wire.MATE_LOOKUP_NO_PAIR
        for _ in range(2):
            assert getattr(liar, form)(job.id).lookup == wire.MATE_LOOKUP_FOUND
        method = {"mate": "GetMateJobId", "member": "GetMember"}[form]
        assert audited(service) == [("b", method, job.id, "OK", "adopted by b:9")]
        [linked] = [event for event in client.events(after=0, jobs=[job], kinds=["linked"], until_now=True)
                    if "adopted" in event.text]  # fmt: skip
        assert linked.text == "adopted by b:9, which names it by its id"
        assert not client.job(job).adoptable, "it names its mate now"
        client.unlink(job)
        assert liar.mate(job.id, caller="8") == NO_MATE, "its owner has taken the consent back"
        go.touch()
        wait_until(lambda: client.job(job).state == "completed")


def test_a_domain_that_trusts_a_peer_lets_it_adopt_all_but_held_jobs(service):
    service.config["peer"][0]["adopt"] = True
    with grpc.insecure_channel(service.start().address) as channel, service.client() as client:
        liar, script = Liar(channel), script_that_notes(service.folder)
        fill(service)
        waits, held = client.submit(script), client.submit(script, hold=True)
        assert liar.mate(held.id) == NO_MATE
        assert liar.mate(waits.id).lookup == wire.MATE_LOOKUP_FOUND
        client.release(held)
        assert liar.member(held.id).lookup == wire.MATE_LOOKUP_FOUND


def test_users_of_a_peer_whose_table_is_closed_are_nobody_here_and_the_log_says_so(service):
    service.config["peer"][0] |= {"owners": {"ann.there": ME}, "other_owners": "nobody", "adopt": True}
    with grpc.insecure_channel(service.start().address) as channel, service.client() as client:
        liar = Liar(channel)
        fill(service)
        job = client.submit(script_that_notes(service.folder))
        assert liar.mate(job.id) == NO_MATE
        assert liar.mate(job.id, "ann.there").lookup == wire.MATE_LOOKUP_FOUND
    assert f"b:9 is of '{ME}', who is nobody here: owners of [[peer]] can say who that is" in service.log


def test_who_is_nobody_on_the_other_domain_hears_so_at_submission(make_pair):
    pair = make_pair()
    pair.b.config["peer"][0]["other_owners"] = "nobody"
    said = pair.start().a.run("submit", "--pair", "p", "-", text=script_that_notes(pair.folder)).stderr
    assert said.startswith("cosched: this user is nobody on b: there, owners of [[peer]] says who users of")


def test_an_adoptable_job_names_nobody(service):
    with service.client() as client:
        service.start()
        with pytest.raises(ClientError, match="adoptable: is for a job that names nobody"):
            client.submit(script_that_notes(service.folder), pair="p", pair_domain="b", adoptable=True)
