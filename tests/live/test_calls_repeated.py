"""Calls that arrive twice, late, or whose reply is lost: the service gives the first answer and starts nothing twice.

The service is real; the tests are its peer b, which has jobs of any id.
"""

import grpc
import pytest

from cosched.client import Client
from cosched.v1 import coscheduling_pb2 as wire
from cosched.v1.coscheduling_pb2_grpc import CoschedulingServiceStub
from tests.live.scripted_peer import ScriptedPeer
from tests.live.services import Service, noted, script_that_notes, wait_until, whys
from tests.service.faulty_proxy import PASS, SWALLOW_REPLIES, FaultyProxy

COPIES = 20
HOLDS, YIELDS = 1, 3  # nodes of jobs that may hold, and that may not: above the cap
ALL = 8
UNSUBMITTED = wire.GetMateJobIdResponse(lookup=wire.MATE_LOOKUP_UNSUBMITTED)


class World:
    """The service a, and b, which says that nobody has submitted a mate, and calls a."""

    def __init__(self, service: Service, client: Client, stub: CoschedulingServiceStub) -> None:
        self.service, self.client, self.stub = service, client, stub

    def pair(self, name: str, nodes: int) -> str:
        """The id of a new job of a, whose mate is job `name` of b by now."""
        job = self.client.submit(script_that_notes(self.service.folder), pair=name, nodes=nodes)
        waits = "MateUnsubmitted", "TooLargeToHold"
        wait_until(lambda: self.client.job(job).reason in waits, "it waits for its mate")
        assert self.found(name).mate.job_id == job.id
        return job.id

    def found(self, name: str) -> wire.GetMateJobIdResponse:
        request = wire.GetMateJobIdRequest(job=caller(name), pair=name, owner=self.client.jobs()[-1].owner)
        return self.stub.GetMateJobId(request, wait_for_ready=True)

    def status(self, name: str, job: str) -> wire.GetMateStatusResponse:
        return self.stub.GetMateStatus(wire.GetMateStatusRequest(job=own(job), caller=caller(name)))

    def ended(self, job: str) -> bool:
        return self.client.job(job).state == "completed"

    def starts(self, job: str) -> int:
        """How often the job ran, as it noted itself and as its story tells, which agree."""
        wait_until(lambda: self.client.job(job).state not in ("ready", "starting", "running"), "it is settled")
        told = len(whys(self.service, job))
        assert [start[1] for start in noted(self.service.folder)].count(job) == told
        return told


def own(job: str) -> wire.JobRef:
    return wire.JobRef(domain="a", job_id=job)


def caller(name: str) -> wire.JobRef:
    return wire.JobRef(domain="b", job_id=name)


def try_start(name: str, job: str, number: int) -> wire.TryStartMateRequest:
    return wire.TryStartMateRequest(request_id=f"b/{name}/{number}", job=own(job), caller=caller(name))


def start(name: str, job: str, number: int, generation: int) -> wire.StartJobRequest:
    ids = {"request_id": f"b/{name}/{number}", "job": own(job), "caller": caller(name)}
    return wire.StartJobRequest(**ids, hold_generation=generation)


@pytest.fixture
def world(make_service):
    with ScriptedPeer("b") as b:
        b.answers["GetMateJobId"] = UNSUBMITTED
        service = make_service("a", scheme="hold", max_held_fraction="0.25", release_interval=0)
        service.config["manager"]["slots"] = ALL
        service.add_peer("b", b.address)
        with service.start().client() as client, grpc.insecure_channel(service.address) as channel:
            yield World(service, client, CoschedulingServiceStub(channel))


def test_copies_of_a_call_that_come_at_once_start_the_job_once(world):
    queuing, holding = world.pair("q", YIELDS), world.pair("h", HOLDS)
    generation = world.status("h", holding).hold_generation
    tried = [world.stub.TryStartMate.future(try_start("q", queuing, 1)) for _ in range(COPIES)]
    ordered = [world.stub.StartJob.future(start("h", holding, 1, generation)) for _ in range(COPIES)]
    assert [call.result().started for call in (*tried, *ordered)] == [True] * 2 * COPIES
    assert (world.starts(queuing), world.starts(holding)) == (1, 1)


def test_a_copy_gets_the_first_answer_even_if_another_would_be_true_by_now_and_after_a_crash(world):
    blocker = world.client.submit("#!/bin/sh\nsleep 600\n", nodes=ALL)
    wait_until(lambda: world.client.job(blocker).state == "running", "there is no room")
    job = world.client.submit(script_that_notes(world.service.folder), pair="p", nodes=YIELDS).id
    assert world.found("p").mate.job_id == job
    assert not world.stub.TryStartMate(try_start("p", job, 1)).started
    world.client.cancel(blocker)
    wait_until(lambda: world.client.job(job).reason == "TooLargeToHold", "there is room")
    assert not world.stub.TryStartMate(try_start("p", job, 1)).started
    world.service.restart()
    assert world.found("p").mate.job_id == job
    assert not world.stub.TryStartMate(try_start("p", job, 1)).started
    assert world.starts(job) == 0
    assert world.stub.TryStartMate(try_start("p", job, 2)).started
    wait_until(lambda: world.ended(job), "it runs")
    world.service.restart()
    assert world.stub.TryStartMate(try_start("p", job, 2), wait_for_ready=True).started
    assert world.starts(job) == 1


def test_a_late_copy_of_an_earlier_call_changes_nothing(world):
    job = world.pair("p", YIELDS)
    assert not world.stub.StartJob(start("p", job, 7, generation=99)).started
    assert not world.stub.TryStartMate(try_start("p", job, 6)).started
    assert not world.stub.TryStartMate(try_start("p", job, 7)).started
    assert world.starts(job) == 0
    assert world.stub.TryStartMate(try_start("p", job, 8)).started


def test_an_order_for_a_hold_that_has_ended_comes_too_late(world):
    job = world.pair("p", HOLDS)
    before = world.status("p", job).hold_generation
    world.client.release(job)
    after = wait_until(lambda: (now := world.status("p", job)).hold_generation > before and now, "it holds anew")
    assert after.status == wire.MATE_STATUS_HOLDING
    assert not world.stub.StartJob(start("p", job, 1, before)).started
    wait_until(lambda: world.client.job(job).state == "holding", "its readiness has become a hold")
    assert world.stub.StartJob(start("p", job, 2, after.hold_generation)).started
    assert world.starts(job) == 1


def test_questions_may_be_asked_any_number_of_times(world):
    job = world.pair("p", HOLDS)
    assert {world.found("p").SerializeToString() for _ in range(COPIES)} == {world.found("p").SerializeToString()}
    assert {world.status("p", job).hold_generation for _ in range(COPIES)} == {1}
    assert len(list(world.client.events(0, [job], ["linked"], until_now=True))) == 1


def test_a_call_whose_reply_was_lost_is_carried_out_and_answered_as_the_first_time(world):
    job = world.pair("p", YIELDS)
    with FaultyProxy(world.service.address) as network, grpc.insecure_channel(network.address) as channel:
        stub = CoschedulingServiceStub(channel)
        stub.GetMateStatus(wire.GetMateStatusRequest(job=own(job), caller=caller("p")))
        network.set(SWALLOW_REPLIES)
        lost = stub.TryStartMate.future(try_start("p", job, 1))
        wait_until(lambda: world.ended(job), "it ran")
        network.cut()
        assert lost.code() is grpc.StatusCode.UNAVAILABLE
        network.set(PASS)
        assert stub.TryStartMate(try_start("p", job, 1), wait_for_ready=True).started
    assert world.starts(job) == 1


def test_a_caller_that_hangs_up_at_once_leaves_nothing_half_done(world):
    jobs = {str(number): world.pair(str(number), YIELDS) for number in range(5)}
    for name, job in jobs.items():
        for _ in range(COPIES):
            world.stub.TryStartMate.future(try_start(name, job, 1)).cancel()
        assert world.stub.TryStartMate(try_start(name, job, 1)).started
        assert world.starts(job) == 1
