"""The core's messages survive the way through protobuf, and are on the wire what the protocol says."""

from typing import get_args

import pytest
from google.protobuf import json_format
from google.protobuf.message import Message
from hypothesis import given

from cosched.core.events import Asked
from cosched.core.protocol import (
    FOREVER,
    Found,
    GetMateJobId,
    GetMateStatus,
    GetProposal,
    GroupProposed,
    MateJobId,
    MateStarted,
    MateStatus,
    MateTried,
    ProposalOutcome,
    ProposeGroupStart,
    Request,
    Settled,
    SettleGroupStart,
    StartJob,
    Status,
    TellMember,
    TryStartMate,
)
from cosched.service.wire.message_parts import ENDED_BY, FOUND, STATUS
from cosched.service.wire.translation import CALLS, read_clock, write_clock
from cosched.v1 import coscheduling_pb2 as wire
from tests.service import messages
from tests.service.on_wire import read_reply, read_request, refused, refused_field, write_reply, write_request

ANSWERS = {
    MateJobId: GetMateJobId, MateStatus: GetMateStatus, MateTried: TryStartMate, MateStarted: StartJob,
    GroupProposed: ProposeGroupStart, Settled: SettleGroupStart, ProposalOutcome: GetProposal,
}  # fmt: skip


def carried(message: Message) -> Message:
    return type(message).FromString(message.SerializeToString())


def as_dict(message: Message) -> dict:
    return json_format.MessageToDict(message, preserving_proto_field_name=True)


@given(request=messages.requests | messages.group_orders, caller=messages.domains, called=messages.domains)
def test_every_request_comes_back_as_it_was(request, caller, called):
    message = carried(write_request(request, here=caller, peer=called))
    assert read_request(message, here=called) == Asked(caller, request)
    assert type(read_request(message, here=called).request) is type(request)


@given(reply=messages.replies | messages.group_replies, called=messages.domains)
def test_every_reply_comes_back_as_it_was(reply, called):
    message = carried(write_reply(ANSWERS[type(reply)], reply, called))
    assert read_reply(message, peer=called) == reply
    assert type(read_reply(message, peer=called)) is type(reply)


def test_the_table_has_every_call_once():
    assert [call.request for call in CALLS] == list(dict.fromkeys(call.request for call in CALLS))
    many_in_one = {TellMember}
    assert {call.request for call in CALLS} == set(get_args(Request)) - many_in_one
    for call in CALLS:
        assert call.message is getattr(wire, f"{call.name}Request")
        assert call.response is getattr(wire, f"{call.name}Response")


def test_every_answer_has_a_value_of_its_own():
    assert set(FOUND) == set(Found) - {Found.BUSY}, "that is an error"
    assert set(STATUS) == set(Status)
    assert sorted(FOUND.values()) == sorted(set(wire.MateLookup.values()) - {wire.MATE_LOOKUP_UNSPECIFIED})
    assert sorted(STATUS.values()) == sorted(set(wire.MateStatus.values()) - {wire.MATE_STATUS_UNSPECIFIED})
    assert sorted(ENDED_BY.values()) == sorted(set(wire.EndedBy.values()) - {wire.ENDED_BY_UNSPECIFIED})


def test_names_match_the_words_of_the_core():
    assert all(wire.MateStatus.Name(value) == f"MATE_STATUS_{status.name}" for status, value in STATUS.items())


def test_the_first_question_as_a_generic_client_writes_it():
    message = json_format.Parse('{"job": {"domain": "intrepid", "job_id": "17"}}', wire.GetMateJobIdRequest())
    expected = Asked("intrepid", GetMateJobId("17", None, None, ""))
    assert read_request(message, here="eureka") == expected
    assert read_request(message, here="intrepid") == expected  # somebody asks a domain about a job of its own
    assert carried(write_request(expected.request, here="intrepid", peer="eureka")) == message


def test_jobs_are_named_with_their_domains():
    ours, theirs = {"domain": "intrepid", "job_id": "17"}, {"domain": "eureka", "job_id": "99"}
    asked = as_dict(write_request(GetMateJobId("17", "climate", "99", "ann"), here="intrepid", peer="eureka"))
    assert asked == {"job": ours, "pair": "climate", "mate": theirs, "owner": "ann"}
    asked = as_dict(write_request(GetMateStatus("99", "17"), here="intrepid", peer="eureka"))
    assert asked == {"job": theirs, "caller": ours}
    told = as_dict(write_reply(GetMateJobId, MateJobId(Found.MATE, "99"), "eureka"))
    assert told == {"lookup": "MATE_LOOKUP_FOUND", "mate": theirs}


def test_who_ends_with_its_mate_says_so_and_names_nobody_else():
    bond = {"ends_with": ("eureka",), "fail_together": True}
    message = write_request(GetMateJobId("17", "climate", None, "ann", **bond), here="intrepid", peer="eureka")
    assert read_request(carried(message), "eureka").request == GetMateJobId("17", "climate", None, "ann", **bond)
    message.ends_with[0] = "mira"
    assert refused_field(message) == "ends_with"


@pytest.mark.parametrize("runs", [None, 0, 3])
def test_how_many_runs_of_the_mate_are_known(runs):
    """A call of an older domain, or of another implementation, does not say it."""
    ids = "intrepid/17/1", "99", "17"
    for order in (TryStartMate(*ids, 0, runs=runs), StartJob(*ids, 3, runs=runs)):
        message = write_request(order, here="intrepid", peer="eureka")
        assert message.HasField("runs") is (runs is not None)
        assert read_request(carried(message), "eureka").request == order


def hold_of(hold_until: int) -> dict:
    request = TryStartMate("intrepid/17/1", "99", "17", hold_until)
    message = as_dict(write_request(request, here="intrepid", peer="eureka"))
    return {key: value for key, value in message.items() if key.startswith("hold")}


def test_how_long_the_caller_will_hold():
    assert hold_of(0) == {}
    assert hold_of(1_800_000_000) == {"hold_until": "2027-01-15T08:00:00Z"}
    assert hold_of(FOREVER) == {"hold_forever": True}
    assert hold_of(FOREVER + 1) == {"hold_forever": True}


def test_a_fraction_of_a_second_is_cut_off():
    message = write_reply(GetMateStatus, MateStatus(Status.RUNNING, 0, 1_800_000_000), "eureka")
    message.started_at.nanos = 999_999_999
    assert read_reply(message, "eureka") == MateStatus(Status.RUNNING, 0, 1_800_000_000)


def test_a_start_at_the_epoch_is_a_start():
    message = carried(write_reply(GetMateStatus, MateStatus(Status.ENDED, 0, 0), "eureka"))
    assert read_reply(message, "eureka").started_at == 0


def test_cannot_start_now_is_an_answer():
    message = write_reply(TryStartMate, MateTried(False), "eureka")
    assert message.SerializeToString() == b""
    assert read_reply(message, "eureka") == MateTried(False)


def test_an_instant_of_start_has_its_fraction():
    request = StartJob("intrepid/17/2", "99", "17", 3, 1_800_000_000.25)
    assert as_dict(write_request(request, here="intrepid", peer="eureka"))["start_at"] == "2027-01-15T08:00:00.250Z"
    told = as_dict(write_reply(StartJob, MateStarted(True, 0.5), "eureka"))
    assert told == {"started": True, "start_at": "1970-01-01T00:00:00.500Z"}


@pytest.mark.parametrize(("seconds", "nanos"), [(-1, 0), (253402300800, 0), (1, -1), (1, 10**9)])
def test_an_instant_of_start_that_is_none_is_refused(seconds, nanos):
    for order in (TryStartMate("intrepid/17/1", "99", "17", 0), StartJob("intrepid/17/1", "99", "17", 1)):
        message = write_request(order, here="intrepid", peer="eureka")
        message.start_at.seconds, message.start_at.nanos = seconds, nanos
        assert refused_field(message) == "start_at"
    for call, reply in ((TryStartMate, MateTried(True)), (StartJob, MateStarted(True))):
        message = write_reply(call, reply, "eureka")
        message.start_at.seconds, message.start_at.nanos = seconds, nanos
        assert refused(read_reply, message, "eureka") == "start_at"


@given(received=messages.instants, sent=messages.instants)
def test_the_readings_of_a_clock_come_back_as_they_were(received, sent):
    assert read_clock(carried(write_clock(received, sent, takes_groups=True))) == (received, sent)
