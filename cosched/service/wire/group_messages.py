"""The calls for groups as protobuf messages. Pure; checks what it reads.

GROUPS in proto/cosched/v1/coscheduling.proto explains them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from google.protobuf.duration_pb2 import Duration

from cosched.core import protocol as core
from cosched.core.protocol import MAX_MEMBERS, Domain, Outcome, Vote, Window
from cosched.service.wire import fields
from cosched.service.wire import message_parts as parts
from cosched.service.wire.call_on_wire import CallOnWire
from cosched.service.wire.fields import FieldError, WrongDomainError, check_domain, check_job_of, check_text, check_time
from cosched.v1 import coscheduling_pb2 as wire
from cosched.v1 import job_pb2
from cosched.validation.group_windows import those_apart, wrong_windows

MAX_LEASE = 1000 * 86400
VOTE = {vote: wire.GroupVote.Value(f"GROUP_VOTE_{vote.name}") for vote in Vote}
OUTCOME = {outcome: wire.ProposalOutcome.Value(f"PROPOSAL_OUTCOME_{outcome.name}") for outcome in Outcome}
_VOTE_OF = {value: vote for vote, value in VOTE.items()}
_OUTCOME_OF = {value: outcome for outcome, value in OUTCOME.items()}


def _write_get_member(request: core.GetMember, peer: Domain) -> parts.Fields:
    windows, at = map(write_window, request.windows), parts.write_instant(request.at)
    member = None if request.member is None else wire.JobRef(domain=peer, job_id=request.member)
    named = {"group": request.group, "domains": request.domains, "owner": request.owner, "member": member}
    bond = {"ends_with": sorted(request.ends_with), "fail_together": request.fail_together}
    return {**named, **bond, "windows": windows, "at": at}


def _read_get_member(message: wire.GetMemberRequest, here: Domain, peer: Domain) -> list[Any]:
    group = check_text("group", message.group, fields.MAX_PAIR)
    if not 2 <= len(message.domains) <= MAX_MEMBERS:
        raise FieldError("domains", f"must be 2 to {MAX_MEMBERS}, are {len(message.domains)}")
    domains = _in_order("domains", message.domains)
    if peer not in domains or peer == here:
        raise WrongDomainError("job.domain", "is not another one of the group's domains")
    if here not in domains:
        raise WrongDomainError("domains", f"{here} is not among them")
    owner = check_text("owner", message.owner, fields.MAX_OWNER, least=0)
    windows = read_windows("windows", message.windows, domains)
    if [window.domain for window in windows] != [window.domain for window in message.windows]:
        raise FieldError("windows", "must be in the order of their domains, and not 0 to 0")
    member = check_job_of("member", message.member, here) if message.HasField("member") else None
    ends_with = _in_order("ends_with", message.ends_with)
    if not {*domains} - {peer} >= {*ends_with}:
        raise FieldError("ends_with", "names a domain that is not another one of the group's")
    return [group, domains, owner, windows, read_at("at", message), member, ends_with, message.fail_together]


def write_window(window: Window) -> wire.Window:
    """Return the message for a window."""
    earliest, latest = Duration(seconds=window.earliest), Duration(seconds=window.latest)
    return wire.Window(domain=window.domain, earliest=earliest, latest=latest)


def read_windows(field: str, messages: Sequence[wire.Window], domains: Collection[Domain]) -> tuple[Window, ...]:
    """Return the windows of a group of these domains, but for jobs that start at the common instant; FieldError."""
    found: dict[Domain, tuple[int, int]] = {}
    for place, message in enumerate(messages):
        if message.domain in found:
            raise FieldError(f"{field}[{place}].domain", "is named twice")
        if message.earliest.nanos or message.latest.nanos:
            raise FieldError(f"{field}[{place}]", "is not of whole seconds")
        found[message.domain] = message.earliest.seconds, message.latest.seconds
    if (wrong := wrong_windows(found, domains)) is not None:
        raise FieldError(field, f"{wrong[0]!r} {wrong[1]}")
    return tuple(sorted(Window(domain, *window) for domain, window in those_apart(found).items()))


def read_at(field: str, message: wire.GetMemberRequest | job_pb2.GroupName) -> int | None:
    """Return the instant that a group is given, if it is; FieldError."""
    if not message.HasField("at"):
        return None
    if message.at.nanos:
        raise FieldError(field, "is not of whole seconds")
    return check_time(field, message.at)


def _in_order(field: str, domains: Sequence[str]) -> tuple[Domain, ...]:
    names = tuple(check_domain(field, domain) for domain in domains)
    if list(names) != sorted(set(names)):
        raise FieldError(field, "must be in order, each once")
    return names


def _write_proposal(request: core.ProposeGroupStart, _: Domain) -> parts.Fields:
    from_when, until = parts.write_instant(request.not_before), parts.write_instant(request.only_before or None)
    instant, start_at = parts.write_instant(request.instant), parts.write_instant(request.start_at)
    asked = {"not_before": from_when, "only_before": until, "instant": instant, "without": sorted(request.without)}
    booked = {"book": request.book, "slot_name": request.slot, "lease": Duration(seconds=request.lease)}
    return {**asked, **booked, "start_at": start_at, **parts.write_hold(request.hold_until)}


def _read_proposal(message: wire.ProposeGroupStartRequest, here: Domain, peer: Domain) -> list[Any]:
    hold_until, start_at, lease = parts.read_hold(message), parts.read_start_at(message), message.lease
    if not 1 <= lease.seconds <= MAX_LEASE or lease.nanos:
        raise FieldError("lease", f"is not a number of whole seconds from 1 to {MAX_LEASE}")
    slot = check_text("slot_name", message.slot_name, fields.MAX_REQUEST_ID, least=0)
    not_before, only_before, book, without, instant = _read_question(message)
    if not {here, peer}.isdisjoint(without):
        raise FieldError("without", "names the domain of a member that takes part")
    return [hold_until, lease.seconds, start_at, not_before, only_before, book, slot, without, instant]


def _read_question(
    message: wire.ProposeGroupStartRequest,
) -> tuple[int | None, int, bool, tuple[Domain, ...], int | None]:
    """Return the fields of a question for a later instant: not_before, only_before, book, without and instant."""
    if not message.HasField("not_before"):
        given = {field.name for field, _ in message.ListFields()}
        for name in ("only_before", "book", "without", "instant"):
            if name in given:
                raise FieldError(name, "must not be given without not_before")
        return None, 0, False, (), None
    if len(message.without) > MAX_MEMBERS - 2:
        raise FieldError("without", f"must be {MAX_MEMBERS - 2} at most, are {len(message.without)}")
    bounded = message.HasField("only_before")
    return (
        check_time("not_before", message.not_before),
        check_time("only_before", message.only_before, earliest=1) if bounded else 0,
        message.book,
        _in_order("without", message.without),
        check_time("instant", message.instant) if message.HasField("instant") else None,
    )


def _read_vote(message: wire.ProposeGroupStartResponse, _: Domain) -> core.GroupProposed:
    if message.vote not in _VOTE_OF:
        raise FieldError("vote", "is not known here")
    earliest = check_time("earliest", message.earliest) if message.HasField("earliest") else None
    return core.GroupProposed(_VOTE_OF[message.vote], parts.read_start_at(message), earliest)


def _check_vote(request: core.ProposeGroupStart, reply: core.GroupProposed) -> None:
    """Check that the instant of a slot is one that answers the question for it."""
    if request.not_before is None:
        return
    booked = reply.vote is Vote.BOOKED
    if reply.earliest is not None and reply.earliest < request.not_before:
        raise FieldError("earliest", "is before not_before")
    if booked and (not request.book or reply.earliest != request.not_before):
        raise FieldError("earliest", "is booked, but not not_before, or it was not to be")


def _write_settle(request: core.SettleGroupStart, _: Domain) -> parts.Fields:
    start_at, hold = parts.write_instant(request.start_at), parts.write_hold(request.hold_until)
    return {"start": request.start, "keep": request.keep, "start_at": start_at, **hold}


def _read_settle(message: wire.SettleGroupStartRequest, *_: Domain) -> list[Any]:
    hold_until, start_at = parts.read_hold(message), parts.read_start_at(message)
    if message.start and message.keep:
        raise FieldError("keep", "must not be given with start")
    return [message.start, hold_until, start_at, message.keep]


def _read_outcome(message: wire.GetProposalResponse, _: Domain) -> core.ProposalOutcome:
    if message.outcome not in _OUTCOME_OF:
        raise FieldError("outcome", "is not known here")
    return core.ProposalOutcome(_OUTCOME_OF[message.outcome], parts.read_start_at(message))


GET_MEMBER = CallOnWire(
    core.GetMember, wire.GetMemberRequest, wire.GetMemberResponse,
    _write_get_member, _read_get_member,
    lambda reply, domain: parts.write_found(reply, "member", domain),
    lambda message, peer: parts.read_found(message, "member", peer),
)  # fmt: skip
PROPOSE_GROUP_START = CallOnWire(
    core.ProposeGroupStart, wire.ProposeGroupStartRequest, wire.ProposeGroupStartResponse,
    _write_proposal, _read_proposal,
    lambda reply, _: {
        "vote": VOTE[reply.vote],
        "earliest": parts.write_instant(reply.earliest), "start_at": parts.write_instant(reply.start_at),
    },
    _read_vote, _check_vote,
)  # fmt: skip
SETTLE_GROUP_START = CallOnWire(
    core.SettleGroupStart, wire.SettleGroupStartRequest, wire.SettleGroupStartResponse,
    _write_settle, _read_settle,
    lambda reply, _: {"current": reply.current}, lambda message, _: core.Settled(message.current),
)  # fmt: skip
GET_PROPOSAL = CallOnWire(
    core.GetProposal, wire.GetProposalRequest, wire.GetProposalResponse,
    lambda *_: {}, lambda *_: (),
    lambda reply, _: {"outcome": OUTCOME[reply.outcome], "start_at": parts.write_instant(reply.start_at)},
    _read_outcome,
)  # fmt: skip
