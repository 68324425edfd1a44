"""ReplayService: whom it answers, and what it refuses."""

from contextlib import closing

import grpc
import pytest

from cosched.service.replay.api import ReplayApi
from cosched.service.wire.callers import plaintext_callers
from cosched.v1 import replay_pb2 as wire
from cosched.v1.replay_pb2_grpc import ReplayServiceStub, add_ReplayServiceServicer_to_server
from cosched.words.error_details import error_info
from cosched_adapters.replay_time import SharedTime
from tests.live.loop import Loop
from tests.live.services import free_port

pytestmark = pytest.mark.sim  # which brings the manager

TRACE = "job_id,submit,run,nodes,requested\nx,5,20,2,30\ny,7,10,3,10\n"
ALL = (1, 2, 5, 3, 4)
WITHOUT_SLOTS = (1, 2, 3, 4)  # all, of a conductor that does not know them
NEXT = ("next_completion", "next_timer", "next_submission")


@pytest.fixture(scope="module")
def loop():
    loop = Loop()
    yield loop
    loop.close()


@pytest.fixture
def sections(tmp_path):
    (tmp_path / "t.csv").write_text(TRACE)
    SharedTime.make(tmp_path / "time").close()
    domain = {"name": "a", "listen": f"127.0.0.1:{free_port()}", "plaintext": True, "socket": "s", "state": "state.db"}
    manager = {"kind": "replay", "trace": "t.csv", "nodes": 4, "clock": "lockstep", "time": "time"}
    return {"domain": domain, "manager": manager}


@pytest.fixture
def service(loop, tmp_path, sections):
    with loop.serve(tmp_path, sections) as service:
        yield service


@pytest.fixture
def told(service):
    time = SharedTime(service.configuration.domain.state.with_name("time"))
    yield time
    time.close()


@pytest.fixture
def stub(service):
    with grpc.insecure_channel(f"unix:{service.configuration.domain.socket}") as channel:
        yield ReplayServiceStub(channel)


def refusal(stub, method: str, **given) -> tuple[str, str, str]:
    request = getattr(wire, f"{method}Request")(**given)
    with pytest.raises(grpc.RpcError) as refused:
        for _ in getattr(stub, method)(request, timeout=600):  # of a stream, the error comes with its first page
            pass
    reason, metadata = error_info(refused.value) or ("", {})
    return refused.value.code().name, reason, metadata.get("field", "")


def test_a_domain_is_led_through_its_trace(stub, told):
    come = stub.Advance(wire.AdvanceRequest())
    assert (come.next_submission, come.HasField("next_completion"), come.HasField("next_timer")) == (5, False, False)
    instants = []
    while coming := [getattr(come, name) for name in NEXT if come.HasField(name)]:
        instants.append(min(coming))
        told.tell(instants[-1])
        come = stub.Advance(wire.AdvanceRequest(instant=instants[-1], phases=ALL))
        assert (come.instant, come.timers_fired) == (instants[-1], False)
    assert instants == [5, 7, 25, 35]
    (page,) = stub.GetResults(wire.GetResultsRequest())
    assert [(j.number, j.ready, j.start, j.end, j.state) for j in page.jobs] == [(1, 5, 5, 25, 5), (2, 25, 25, 35, 5)]


def test_it_goes_on_alone_as_long_as_it_has_jobs_to_submit(stub, told):
    told.tell(5)
    come = stub.Advance(wire.AdvanceRequest(instant=5, phases=ALL, until=7))
    assert (come.instant, come.next_submission) == (5, 7)
    come = stub.Advance(wire.AdvanceRequest(instant=5, phases=WITHOUT_SLOTS, until=100))
    assert (come.instant, told.now(), come.next_completion) == (7, 7, 25)
    assert refusal(stub, "Advance", instant=7, phases=(1, 2), until=100)[2] == "until"


WRONG = [  # calls at the instant 5, and the field that is wrong
    ("Advance", {"instant": 6, "phases": ALL}, "instant"),
    ("Advance", {"instant": 5, "phases": (4, 1)}, "phases"),
    ("Advance", {"instant": 5, "phases": (3, 5)}, "phases"),
    ("Advance", {"instant": 5, "phases": (1, 1)}, "phases"),
    ("Advance", {"instant": 5, "phases": (0,)}, "phases"),
    ("Advance", {"instant": 5, "phases": (3, wire.PHASE_NEWS)}, "phases"),
    ("ChangeJob", {"instant": 6, "number": 1, "change": 1}, "instant"),
    ("ChangeJob", {"instant": 5, "number": 0, "change": 1}, "number"),
    ("ChangeJob", {"instant": 5, "number": 3, "change": 1}, "number"),
    ("ChangeJob", {"instant": 5, "number": 1}, "change"),
    ("ChangeJob", {"instant": 5, "number": 1, "change": 6, "by": 3}, "by"),
    ("ChangeDomain", {"instant": 6, "change": wire.DOMAIN_CHANGE_DOWN, "nodes": 1}, "instant"),
    ("ChangeDomain", {"instant": 5, "nodes": 1}, "change"),
    ("ChangeDomain", {"instant": 5, "change": wire.DOMAIN_CHANGE_DOWN}, "nodes"),
    ("ChangeDomain", {"instant": 5, "change": wire.DOMAIN_CHANGE_CUT, "domain": "b"}, "domain"),
    ("ChangeDomain", {"instant": 5, "change": wire.DOMAIN_CHANGE_SCHEME, "domain": "a", "scheme": "meet"}, "scheme"),
]


@pytest.mark.parametrize(("method", "given", "field"), WRONG)
def test_what_is_wrong_changes_nothing(stub, told, method, given, field):
    told.tell(5)
    assert refusal(stub, method, **given) == ("INVALID_ARGUMENT", "INVALID_FIELD", field)
    assert stub.Advance(wire.AdvanceRequest()).next_submission == 5
    assert list(stub.GetResults(wire.GetResultsRequest())) == []


def test_a_job_is_changed_before_it_is_submitted_and_as_it_runs(stub, told):
    told.tell(5)
    assert stub.ChangeJob(wire.ChangeJobRequest(instant=5, number=2, change=wire.JOB_CHANGE_CANCELLED)).done
    assert not stub.ChangeJob(wire.ChangeJobRequest(instant=5, number=1, change=wire.JOB_CHANGE_REQUEUED)).done
    stub.Advance(wire.AdvanceRequest(instant=5, phases=ALL))
    told.tell(7)
    stub.Advance(wire.AdvanceRequest(instant=7, phases=ALL))
    assert stub.ChangeJob(wire.ChangeJobRequest(instant=7, number=1, change=wire.JOB_CHANGE_REQUEUED)).done
    stub.Advance(wire.AdvanceRequest(instant=7, phases=ALL[1:]))
    jobs, had = stub.GetResults(wire.GetResultsRequest())
    assert [(job.start, job.last_start, job.end, job.state) for job in jobs.jobs] == [(5, 7, 0, 4), (0, 0, 5, 7)]
    assert [(each.start, each.end, each.ended) for each in had.allocations] == [
        (5, 7, wire.ALLOCATION_END_REQUEUED),
        (7, 7, wire.ALLOCATION_END_LASTS),
    ]


def test_only_operators_lead(loop, service):
    async def serve():
        server = grpc.aio.server()
        api = ReplayApi(service._replay.lockstep, plaintext_callers(lambda _: "here"))
        add_ReplayServiceServicer_to_server(api, server)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        return server, port

    server, port = loop.run(serve())
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        others = ReplayServiceStub(channel)
        for method in ("Advance", "ChangeJob", "ChangeDomain", "GetResults"):
            assert refusal(others, method) == ("PERMISSION_DENIED", "NOT_OWNER", "")
    loop.run(server.stop(None))


def test_it_is_not_served_to_other_hosts(service):
    with grpc.insecure_channel(service.address) as channel:
        assert refusal(ReplayServiceStub(channel), "Advance")[0] == "UNIMPLEMENTED"


def test_a_domain_that_follows_the_wall_clock_has_no_such_service(loop, tmp_path, sections):
    del sections["manager"]["time"]
    sections["manager"] |= {"clock": "real", "start": 4_000_000_000}
    with loop.serve(tmp_path, sections), grpc.insecure_channel(f"unix:{tmp_path / 's'}") as channel:
        assert refusal(ReplayServiceStub(channel), "Advance")[0] == "UNIMPLEMENTED"


def test_a_call_to_a_peer_that_fails_ends_a_replay(loop, tmp_path, sections):
    (tmp_path / "pairs.csv").write_text("a,b\nx,1\n")
    sections["manager"]["pairs"] = "pairs.csv"
    sections["peer"] = [{"name": "b", "address": f"127.0.0.1:{free_port()}"}]
    with (
        closing(SharedTime(tmp_path / "time")) as told,
        loop.serve(tmp_path, sections),
        grpc.insecure_channel(f"unix:{tmp_path / 's'}") as channel,
    ):
        told.tell(5)
        refused = refusal(ReplayServiceStub(channel), "Advance", instant=5, phases=ALL)
        assert refused[:2] == ("ABORTED", "PEER_FAILED")
