"""What comes in from another domain is checked, and the bad field named."""

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from cosched.core.protocol import FOREVER, Found, Status
from cosched.service.wire.fields import MAX_GENERATION, MAX_TIME, FieldError, WrongDomainError, number
from cosched.v1 import coscheduling_pb2 as wire
from tests.service.on_wire import read_reply, read_request, refused, refused_field

HERE, PEER = "eureka", "intrepid"
OURS, THEIRS = wire.JobRef(domain=HERE, job_id="99"), wire.JobRef(domain=PEER, job_id="17")


def get_mate_job_id(**fields) -> wire.GetMateJobIdRequest:
    return wire.GetMateJobIdRequest(**{"job": THEIRS, "owner": "ann", **fields})


def get_mate_status(**fields) -> wire.GetMateStatusRequest:
    return wire.GetMateStatusRequest(**{"job": OURS, "caller": THEIRS, **fields})


def try_start_mate(**fields) -> wire.TryStartMateRequest:
    return wire.TryStartMateRequest(**{"request_id": "intrepid/17/1", "job": OURS, "caller": THEIRS, **fields})


def start_job(**fields) -> wire.StartJobRequest:
    known = {"request_id": "intrepid/17/1", "job": OURS, "caller": THEIRS, "hold_generation": 1}
    return wire.StartJobRequest(**{**known, **fields})


CALLS = [get_mate_job_id, get_mate_status, try_start_mate, start_job]
ABOUT_OURS = CALLS[1:]
MUTATING = CALLS[2:]


def refused_reply_field(message) -> str:
    return refused(read_reply, message, PEER)


@pytest.mark.parametrize("call", CALLS)
def test_the_calls_as_written_here_are_good(call):
    assert read_request(call(), HERE).peer == PEER


@pytest.mark.parametrize("call", MUTATING)
def test_fewer_runs_than_none(call):
    assert refused_field(call(runs=-1)) == "runs"


@pytest.mark.parametrize("call", CALLS)
def test_a_missing_job_or_caller(call):
    assert refused_field(call(job=None)) == refused_field(call(job=wire.JobRef())) == "job"
    assert call is get_mate_job_id or refused_field(call(caller=None)) == "caller"


@pytest.mark.parametrize("name", ["", " ", "a b", "x" * 65, "inträpid", "a/b", "intrepid\n", "a:b", "٣"])
@pytest.mark.parametrize("call", CALLS)
def test_a_bad_domain_name(call, name):
    bad = wire.JobRef(domain=name, job_id="17")
    assert refused_field(call(job=bad)) == "job.domain"
    if call is not get_mate_job_id:
        assert refused_field(call(caller=bad)) == "caller.domain"


@pytest.mark.parametrize("name", ["a", "x" * 64, "site-1.cluster_B"])
def test_a_good_domain_name(name):
    assert read_request(get_mate_status(caller=wire.JobRef(domain=name, job_id="17")), HERE).peer == name


@pytest.mark.parametrize("job", ["", "x" * 129, "a\nb", "a\x00", "\u202e17", "\u200b"])
@pytest.mark.parametrize("call", CALLS)
def test_a_bad_job_id(call, job):
    assert refused_field(call(job=wire.JobRef(domain=HERE, job_id=job))) == "job.job_id"
    if call is not get_mate_job_id:
        assert refused_field(call(caller=wire.JobRef(domain=PEER, job_id=job))) == "caller.job_id"


@pytest.mark.parametrize("job", ["1", "x" * 128, "ü" * 128, "12[3].pbs server/α", "17_4"])
def test_a_good_job_id(job):
    asked = read_request(get_mate_status(caller=wire.JobRef(domain=PEER, job_id=job)), HERE)
    assert asked.request.caller == job


@pytest.mark.parametrize("call", ABOUT_OURS)
def test_a_job_of_another_domain_is_not_ours(call):
    with pytest.raises(WrongDomainError, match=r"^job\.domain: is not eureka$") as caught:
        read_request(call(job=wire.JobRef(domain="elsewhere", job_id="99")), HERE)
    assert caught.value.reason == "WRONG_DOMAIN"


def test_a_mate_of_another_domain_is_not_ours():
    with pytest.raises(WrongDomainError, match=r"^mate\.domain"):
        read_request(get_mate_job_id(mate=THEIRS), HERE)
    assert refused_field(get_mate_job_id(mate=wire.JobRef())) == "mate"
    assert refused_field(get_mate_job_id(mate=wire.JobRef(domain=HERE, job_id="x" * 129))) == "mate.job_id"


@pytest.mark.parametrize("request_id", ["", "x" * 257, "a\tb"])
@pytest.mark.parametrize("call", MUTATING)
def test_a_bad_request_id(call, request_id):
    assert refused_field(call(request_id=request_id)) == "request_id"
    assert read_request(call(request_id="x" * 256), HERE).request.request_id == "x" * 256


def test_pair_and_owner():
    assert refused_field(get_mate_job_id(pair="x" * 129)) == "pair"
    assert refused_field(get_mate_job_id(pair="a\nb")) == "pair"
    assert refused_field(get_mate_job_id(owner="x" * 257)) == "owner"
    assert refused_field(get_mate_job_id(owner="root\x1b[2J")) == "owner"
    request = read_request(get_mate_job_id(pair="x" * 128, owner="x" * 256), HERE).request
    assert (len(request.pair), len(request.owner)) == (128, 256)


@pytest.mark.parametrize("generation", [0, -1, MAX_GENERATION + 1])
def test_a_bad_generation(generation):
    assert refused_field(start_job(hold_generation=generation)) == "hold_generation"
    holding = wire.GetMateStatusResponse(status=wire.MATE_STATUS_HOLDING, hold_generation=generation)
    assert refused_reply_field(holding) == "hold_generation"


def test_a_generation_without_meaning_is_not_checked():
    reply = read_reply(wire.GetMateStatusResponse(status=wire.MATE_STATUS_QUEUING, hold_generation=-1), PEER)
    assert reply.status is Status.QUEUING


BAD_TIMES = [(-1, 0), (MAX_TIME + 1, 0), (5, -1), (5, 1_000_000_000), (FOREVER, 0)]


@pytest.mark.parametrize(("seconds", "nanos"), [*BAD_TIMES, (0, 0), (0, 5)])
def test_a_bad_end_of_a_hold(seconds, nanos):
    assert refused_field(try_start_mate(hold_until=Timestamp(seconds=seconds, nanos=nanos))) == "hold_until"


@pytest.mark.parametrize(("seconds", "nanos"), BAD_TIMES)
def test_a_bad_start_time(seconds, nanos):
    stamp = Timestamp(seconds=seconds, nanos=nanos)
    runs = wire.GetMateStatusResponse(status=wire.MATE_STATUS_RUNNING, started_at=stamp)
    assert refused_reply_field(runs) == "started_at"


def test_the_last_times():
    assert read_request(try_start_mate(hold_until=Timestamp(seconds=MAX_TIME)), HERE).request.hold_until == MAX_TIME
    assert read_request(try_start_mate(hold_until=Timestamp(seconds=1)), HERE).request.hold_until == 1
    assert Timestamp(seconds=MAX_TIME).ToJsonString() == "9999-12-31T23:59:59Z"


def test_holding_not_for_ever_is_nothing():
    assert refused_field(try_start_mate(hold_forever=False)) == "hold_forever"


@pytest.mark.parametrize("value", [0, 99])
def test_an_answer_that_is_not_known_here(value):
    assert refused_reply_field(wire.GetMateJobIdResponse(lookup=value)) == "lookup"
    assert refused_reply_field(wire.GetMateStatusResponse(status=value)) == "status"


def test_the_mate_belongs_to_found_only_and_is_a_job_of_the_domain_that_answers():
    assert refused_reply_field(wire.GetMateJobIdResponse(lookup=wire.MATE_LOOKUP_FOUND)) == "mate"
    assert refused_reply_field(wire.GetMateJobIdResponse(lookup=wire.MATE_LOOKUP_NO_PAIR, mate=THEIRS)) == "mate"
    found = wire.GetMateJobIdResponse(lookup=wire.MATE_LOOKUP_FOUND, mate=THEIRS)
    assert read_reply(found, PEER) == (Found.MATE, "17", None)
    with pytest.raises(WrongDomainError, match=r"^mate\.domain"):
        read_reply(wire.GetMateJobIdResponse(lookup=wire.MATE_LOOKUP_FOUND, mate=OURS), PEER)


def test_what_was_sent_is_not_repeated():
    with pytest.raises(FieldError) as caught:
        read_request(get_mate_job_id(owner="evil\n" * 1000), HERE)
    assert len(str(caught.value)) < 100
    assert "evil" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "-1", "+1", "1.0", " 1", "٣", "²", "x", "9" * 19])
def test_a_text_that_is_no_number_of_a_database_is_none(text):
    assert number(text) is None


def test_the_number_of_a_text():
    assert (number("17"), number("9" * 18)) == (17, 10**18 - 1)
