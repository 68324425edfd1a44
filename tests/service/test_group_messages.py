"""The calls for groups survive the way through protobuf, are checked, and are on the wire what the protocol says."""

from contextlib import nullcontext

import pytest
from google.protobuf import json_format
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from cosched.core.events import Asked
from cosched.core.protocol import (
    FOREVER,
    GetMateStatus,
    GetMember,
    GroupProposed,
    MateStatus,
    Outcome,
    ProposeGroupStart,
    SettleGroupStart,
    Status,
    Vote,
    Window,
)
from cosched.service.wire.fields import FieldError
from cosched.service.wire.group_messages import MAX_LEASE, OUTCOME, VOTE
from cosched.v1 import coscheduling_pb2 as wire
from tests.service import messages, on_wire
from tests.service.on_wire import read_reply, read_request, refused, refused_field, write_reply, write_request
from tests.service.test_translation import as_dict, carried

HERE, PEER = "eureka", "intrepid"
OURS, THEIRS = wire.JobRef(domain=HERE, job_id="99"), wire.JobRef(domain=PEER, job_id="17")
NAMED = {"request_id": "intrepid/17/1", "job": OURS, "caller": THEIRS}
IDS = ("intrepid/17/1", "99", "17")
NAMES = {
    "request_id": "intrepid/17/1",
    "job": {"domain": "eureka", "job_id": "99"},
    "caller": {"domain": "intrepid", "job_id": "17"},
}


@given(
    job=messages.jobs,
    group=messages.texts(128),
    domains=st.sets(messages.domains, min_size=2, max_size=16),
    owner=messages.texts(256, 0),
    data=st.data(),
)
def test_the_question_for_a_member_comes_back_as_it_was(job, group, domains, owner, data):
    named = tuple(sorted(domains))
    caller, called = data.draw(st.permutations(named))[:2]
    parted = sorted(data.draw(st.sets(st.sampled_from(named), max_size=len(named) - 1)))
    windows = tuple(Window(domain, *data.draw(messages.windows)) for domain in parted)
    at = data.draw(st.none() | messages.times)
    ends_with = tuple(sorted(data.draw(st.sets(st.sampled_from(sorted({*named} - {caller}))))))
    member, together = data.draw(st.none() | messages.jobs), data.draw(st.booleans())
    request = GetMember(job, group, named, owner, windows, at, member, ends_with, together)
    message = carried(write_request(request, here=caller, peer=called))
    assert read_request(message, here=called) == Asked(caller, request)


def test_every_answer_has_a_value_of_its_own():
    assert set(VOTE) == set(Vote)
    assert set(OUTCOME) == set(Outcome)
    assert sorted(VOTE.values()) == sorted(set(wire.GroupVote.values()) - {0})
    assert sorted(OUTCOME.values()) == sorted(set(wire.ProposalOutcome.values()) - {0})


def test_a_proposal_and_its_end_on_the_wire():
    proposal = as_dict(write_request(ProposeGroupStart(*IDS, FOREVER, 60, 1_800_000_000.25), PEER, HERE))
    assert proposal == {**NAMES, "hold_forever": True, "lease": "60s", "start_at": "2027-01-15T08:00:00.250Z"}
    for start, told in ((False, {}), (True, {"start": True})):
        assert as_dict(write_request(SettleGroupStart(*IDS, start=start), PEER, HERE)) == NAMES | told


def test_a_slot_on_the_wire():
    asked = ProposeGroupStart(*IDS, 0, 60, None, 1_800_000_000, 1_800_000_600, True, "intrepid/17/0", ("b", "a"))
    assert as_dict(write_request(asked, PEER, HERE)) == {
        **NAMES, "lease": "60s", "not_before": "2027-01-15T08:00:00Z", "only_before": "2027-01-15T08:10:00Z",
        "book": True, "slot_name": "intrepid/17/0", "without": ["a", "b"],
    }  # fmt: skip
    assert as_dict(write_request(SettleGroupStart(*IDS, start=False, keep=True), PEER, HERE)) == {**NAMES, "keep": True}
    told = write_reply(ProposeGroupStart, GroupProposed(Vote.NO, earliest=1_800_000_060), HERE)
    assert as_dict(told) == {"vote": "GROUP_VOTE_NO", "earliest": "2027-01-15T08:01:00Z"}


def test_messages_without_slots_have_the_bytes_that_they_had():
    """Of pairs and of groups, as a version wrote them that knows no slots of groups."""
    for message, written in (
        (
            write_request(ProposeGroupStart(*IDS, FOREVER, 60, 1_800_000_000.25), PEER, HERE),
            "0a0d696e7472657069642f31372f31120c0a06657572656b61120239391a0e0a08696e747265706964120231372801"
            "3202083c520b0880a4a7da061080e59a77",
        ),
        (
            write_request(SettleGroupStart(*IDS, start=True), PEER, HERE),
            "0a0d696e7472657069642f31372f31120c0a06657572656b61120239391a0e0a08696e747265706964120231373001",
        ),
        (write_reply(ProposeGroupStart, GroupProposed(Vote.BUSY), HERE), "0802"),
        (write_reply(GetMateStatus, MateStatus(Status.QUEUING, 0, None), HERE), "0802"),
    ):
        assert message.SerializeToString(deterministic=True).hex() == written


def member(**fields) -> wire.GetMemberRequest:
    known = {"job": THEIRS, "group": "run7", "domains": [HERE, PEER, "mira"], "owner": "ann"}
    return wire.GetMemberRequest(**{**known, **fields})


def test_the_question_as_a_generic_client_writes_it():
    text = (
        '{"job": {"domain": "intrepid", "job_id": "17"}, "group": "run7", "domains": ["eureka", "intrepid"],'
        ' "owner": "ann"}'
    )
    message = json_format.Parse(text, wire.GetMemberRequest())
    assert read_request(message, HERE) == Asked(PEER, GetMember("17", "run7", ("eureka", "intrepid"), "ann"))


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        ({"job": None}, "job"),
        ({"job": OURS}, "job.domain"),
        ({"job": wire.JobRef(domain="polaris", job_id="1")}, "job.domain"),
        ({"group": ""}, "group"),
        ({"group": "x" * 129}, "group"),
        ({"group": "two\nlines"}, "group"),
        ({"domains": []}, "domains"),
        ({"domains": [HERE]}, "domains"),
        ({"domains": ["intrepid", "mira"]}, "domains"),
        ({"domains": [HERE, HERE, PEER]}, "domains"),
        ({"domains": [PEER, HERE]}, "domains"),
        ({"domains": [HERE, PEER, "two words"]}, "domains"),
        ({"domains": [HERE, PEER, *(f"m{n:02}" for n in range(15))]}, "domains"),
        ({"owner": "x" * 257}, "owner"),
        ({"member": THEIRS}, "member.domain"),
        ({"ends_with": [PEER]}, "ends_with"),
        ({"ends_with": ["polaris"]}, "ends_with"),
        ({"ends_with": ["mira", HERE]}, "ends_with"),
        ({"member": wire.JobRef(domain=HERE)}, "member.job_id"),
    ],
)
def test_a_bad_question_names_its_field(bad, field):
    fields = {name: value for name, value in bad.items() if value is not None}
    message = member(**fields)
    if bad.get("job", THEIRS) is None:
        message.ClearField("job")
    assert refused_field(message) == field


def test_sixteen_domains_are_not_too_many():
    domains = sorted([HERE, PEER, *(f"m{n:02}" for n in range(14))])
    assert len(read_request(member(domains=domains), HERE).request.domains) == 16


ORDERS = {
    wire.ProposeGroupStartRequest: {**NAMED, "lease": Duration(seconds=60)},
    wire.SettleGroupStartRequest: NAMED,
    wire.GetProposalRequest: NAMED,
}


@pytest.mark.parametrize("kind", ORDERS)
@pytest.mark.parametrize(
    ("bad", "field"),
    [
        ({"request_id": ""}, "request_id"),
        ({"request_id": "x" * 257}, "request_id"),
        ({"job": THEIRS}, "job.domain"),
        ({"job": wire.JobRef(domain=HERE, job_id="x" * 129)}, "job.job_id"),
        ({"caller": wire.JobRef()}, "caller"),
    ],
)
def test_a_bad_order_names_its_field(kind, bad, field):
    assert read_request(kind(**ORDERS[kind]), HERE).peer == PEER
    assert refused_field(kind(**{**ORDERS[kind], **bad})) == field


@pytest.mark.parametrize("lease", [Duration(), Duration(seconds=MAX_LEASE + 1), Duration(seconds=1, nanos=1)])
def test_a_lease_that_is_none_is_refused(lease):
    assert refused_field(wire.ProposeGroupStartRequest(**NAMED, lease=lease)) == "lease"


LATER = Timestamp(seconds=1_800_000_000)
QUESTION = {**NAMED, "lease": Duration(seconds=60), "not_before": LATER}


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        ({"not_before": Timestamp(seconds=-1)}, "not_before"),
        ({"only_before": Timestamp()}, "only_before"),
        ({"only_before": Timestamp(seconds=-1)}, "only_before"),
        ({"slot_name": "x" * 257}, "slot_name"),
        ({"slot_name": "two\nlines"}, "slot_name"),
        ({"without": ["two words"]}, "without"),
        ({"without": ["b", "a"]}, "without"),
        ({"without": ["a", "a"]}, "without"),
        ({"without": [HERE]}, "without"),
        ({"without": [PEER]}, "without"),
        ({"without": [f"m{n:02}" for n in range(15)]}, "without"),
        ({"not_before": None, "only_before": LATER}, "only_before"),
        ({"not_before": None, "book": True}, "book"),
        ({"not_before": None, "without": ["a"]}, "without"),
        ({"not_before": None, "instant": LATER}, "instant"),
        ({"instant": Timestamp(seconds=-1)}, "instant"),
    ],
)
def test_a_bad_question_for_an_instant_names_its_field(bad, field):
    assert read_request(wire.ProposeGroupStartRequest(**QUESTION), HERE).request.not_before == LATER.seconds
    assert refused_field(wire.ProposeGroupStartRequest(**{**QUESTION, **bad})) == field


def test_what_is_kept_is_not_started():
    assert refused_field(wire.SettleGroupStartRequest(**NAMED, start=True, keep=True)) == "keep"


@pytest.mark.parametrize(
    ("vote", "earliest", "book", "right"),
    [
        (Vote.NO, None, True, True), (Vote.NO, 100, True, True), (Vote.NO, 101, False, True),
        (Vote.NO, 99, False, False), (Vote.BOOKED, 100, True, True), (Vote.BOOKED, 100, False, False),
        (Vote.BOOKED, 101, True, False), (Vote.BOOKED, None, True, False),
    ],
)  # fmt: skip
def test_the_answer_to_a_question_for_an_instant_is_checked(vote, earliest, book, right):
    request = ProposeGroupStart(*IDS, 0, 60, not_before=100, book=book)
    with nullcontext() if right else pytest.raises(FieldError, match="earliest"):
        on_wire.check_answer(request, GroupProposed(vote, earliest=earliest))


@pytest.mark.parametrize("kind", [wire.ProposeGroupStartRequest, wire.SettleGroupStartRequest])
def test_holds_and_instants_are_checked(kind):
    assert refused_field(kind(**ORDERS[kind], hold_forever=False)) == "hold_forever"
    message = kind(**ORDERS[kind])
    message.start_at.seconds = -1
    assert refused_field(message) == "start_at"


@pytest.mark.parametrize(
    ("message", "field"),
    [
        (wire.GetMemberResponse(), "lookup"),
        (wire.GetMemberResponse(lookup=wire.MATE_LOOKUP_FOUND), "member"),
        (wire.GetMemberResponse(lookup=wire.MATE_LOOKUP_FOUND, member=THEIRS), "member.domain"),
        (wire.GetMemberResponse(lookup=wire.MATE_LOOKUP_NO_PAIR, member=OURS), "member"),
        (wire.ProposeGroupStartResponse(), "vote"),
        (wire.ProposeGroupStartResponse(vote=9), "vote"),
        (wire.ProposeGroupStartResponse(vote=3, earliest=Timestamp(seconds=-1)), "earliest"),
        (wire.GetProposalResponse(), "outcome"),
        (wire.GetProposalResponse(outcome=9), "outcome"),
    ],
)
def test_an_answer_that_breaks_the_protocol_names_its_field(message, field):
    assert refused(read_reply, message, HERE) == field
