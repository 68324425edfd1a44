"""Translates the calls for groups to protobuf messages and back. Pure; checks what it reads.

GROUPS in proto/cosched/v1/coscheduling.proto explains them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from google.protobuf.duration_pb2 import Duration

from cosched.core.events import Asked
from cosched.core.protocol import (
    MAX_MEMBERS,
    AboutGroup,
    Domain,
    GetMember,
    GetProposal,
    GroupOrder,
    GroupProposed,
    JobId,
    MateJobId,
    Outcome,
    ProposalOutcome,
    ProposeGroupStart,
    Reply,
    Settled,
    SettleGroupStart,
    Vote,
    Window,
)
from cosched.service.wire.fields import (
    MAX_OWNER,
    MAX_PAIR,
    MAX_REQUEST_ID,
    FieldError,
    WrongDomainError,
    check_domain,
    check_job,
    check_job_of,
    check_text,
    check_time,
)
from cosched.service.wire.message_parts import (
    FOUND,
    PROBLEM,
    read_found,
    read_hold,
    read_start_at,
    write_hold,
    write_instant,
)
from cosched.v1 import coscheduling_pb2 as wire
from cosched.v1 import job_pb2
from cosched.validation.group_windows import those_apart, wrong_windows

MAX_LEASE = 1000 * 86400
WireGroupOrder = wire.ProposeGroupStartRequest | wire.SettleGroupStartRequest | wire.GetProposalRequest
WireGroupRequest = wire.GetMemberRequest | WireGroupOrder
WireGroupReply = (
    wire.GetMemberResponse | wire.ProposeGroupStartResponse | wire.SettleGroupStartResponse | wire.GetProposalResponse
)

VOTE = {vote: wire.GroupVote.Value(f"GROUP_VOTE_{vote.name}") for vote in Vote}
OUTCOME = {outcome: wire.ProposalOutcome.Value(f"PROPOSAL_OUTCOME_{outcome.name}") for outcome in Outcome}
_VOTE_OF = {value: vote for vote, value in VOTE.items()}
_OUTCOME_OF = {value: outcome for outcome, value in OUTCOME.items()}


def write_group_request(request: AboutGroup, here: Domain, peer: Domain) -> WireGroupRequest:
    """Return the message for a request to a peer."""
    caller = wire.JobRef(domain=here, job_id=request.caller)
    if isinstance(request, GetMember):
        return wire.GetMemberRequest(
            job=caller,
            group=request.group,
            domains=request.domains,
            owner=request.owner,
            windows=map(write_window, request.windows),
            at=write_instant(request.at),
        )
    id, job = request.request_id, wire.JobRef(domain=peer, job_id=request.job)
    if isinstance(request, GetProposal):
        return wire.GetProposalRequest(request_id=id, job=job, caller=caller)
    start_at = write_instant(request.start_at)
    message: wire.ProposeGroupStartRequest | wire.SettleGroupStartRequest
    if isinstance(request, ProposeGroupStart):
        message = wire.ProposeGroupStartRequest(
            request_id=id,
            job=job,
            caller=caller,
            lease=Duration(seconds=request.lease),
            not_before=write_instant(request.not_before),
            only_before=write_instant(request.only_before or None),
            book=request.book,
            start_at=start_at,
            slot_name=request.slot,
            without=sorted(request.without),
            instant=write_instant(request.instant),
        )
    else:
        message = wire.SettleGroupStartRequest(
            request_id=id, job=job, caller=caller, start=request.start, keep=request.keep, start_at=start_at
        )
    write_hold(message, request.hold_until)
    return message


def read_group_request(message: WireGroupRequest, here: Domain) -> Asked:
    """Return a peer's request to this domain, and the peer that the message names; FieldError."""
    if isinstance(message, wire.GetMemberRequest):
        return _read_get_member(message, here)
    job = check_job_of("job", message.job, here)
    peer, caller = check_job("caller", message.caller)
    request_id = check_text("request_id", message.request_id, MAX_REQUEST_ID)
    order = _read_order(message, request_id, job, caller)
    if isinstance(order, ProposeGroupStart) and not {here, peer}.isdisjoint(order.without):
        raise FieldError("without", "names the domain of a member that takes part")
    return Asked(peer, order)


def _read_get_member(message: wire.GetMemberRequest, here: Domain) -> Asked:
    peer, caller = check_job("job", message.job)
    group = check_text("group", message.group, MAX_PAIR)
    domains = _read_domains(message.domains)
    if peer not in domains or peer == here:
        raise WrongDomainError("job.domain", "is not another one of the group's domains")
    if here not in domains:
        raise WrongDomainError("domains", f"{here} is not among them")
    owner = check_text("owner", message.owner, MAX_OWNER, least=0)
    windows = read_windows("windows", message.windows, domains)
    if [window.domain for window in windows] != [window.domain for window in message.windows]:
        raise FieldError("windows", "must be in the order of their domains, and not 0 to 0")
    return Asked(peer, GetMember(caller, group, domains, owner, windows, read_at("at", message)))


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


def _read_domains(domains: Sequence[str]) -> tuple[Domain, ...]:
    if not 2 <= len(domains) <= MAX_MEMBERS:
        raise FieldError("domains", f"must be 2 to {MAX_MEMBERS}, are {len(domains)}")
    return _in_order("domains", domains)


def _in_order(field: str, domains: Sequence[str]) -> tuple[Domain, ...]:
    names = tuple(check_domain(field, domain) for domain in domains)
    if list(names) != sorted(set(names)):
        raise FieldError(field, "must be in order, each once")
    return names


def _read_order(message: WireGroupOrder, request_id: str, job: JobId, caller: JobId) -> GroupOrder:
    if isinstance(message, wire.GetProposalRequest):
        return GetProposal(request_id, job, caller)
    hold_until, start_at = read_hold(message), read_start_at(message)
    if isinstance(message, wire.SettleGroupStartRequest):
        if message.start and message.keep:
            raise FieldError("keep", "must not be given with start")
        return SettleGroupStart(request_id, job, caller, message.start, hold_until, start_at, message.keep)
    lease = message.lease
    if not 1 <= lease.seconds <= MAX_LEASE or lease.nanos:
        raise FieldError("lease", f"is not a number of whole seconds from 1 to {MAX_LEASE}")
    proposal = ProposeGroupStart(request_id, job, caller, hold_until, lease.seconds, start_at)
    return proposal._replace(
        slot=check_text("slot_name", message.slot_name, MAX_REQUEST_ID, least=0), **_read_question(message)
    )


def _read_question(message: wire.ProposeGroupStartRequest) -> dict[str, Any]:
    """Return the fields of a question for a later instant."""
    given = message.HasField("not_before")
    for field, has in (
        ("only_before", message.HasField("only_before")),
        ("book", message.book),
        ("without", message.without),
        ("instant", message.HasField("instant")),
    ):
        if has and not given:
            raise FieldError(field, "must not be given without not_before")
    if not given:
        return {}
    if len(message.without) > MAX_MEMBERS - 2:
        raise FieldError("without", f"must be {MAX_MEMBERS - 2} at most, are {len(message.without)}")
    bounded = message.HasField("only_before")
    return {
        "not_before": check_time("not_before", message.not_before),
        "only_before": check_time("only_before", message.only_before, earliest=1) if bounded else 0,
        "book": message.book,
        "without": _in_order("without", message.without),
        "instant": check_time("instant", message.instant) if message.HasField("instant") else None,
    }


def write_group_reply(reply: Reply, domain: Domain) -> WireGroupReply:
    """Return the message for a reply to a call for groups; a member that it names is a job of `domain`."""
    if isinstance(reply, MateJobId):
        member = wire.JobRef(domain=domain, job_id=reply.job) if reply.job is not None else None
        problem = PROBLEM[reply.problem] if reply.problem is not None else None
        return wire.GetMemberResponse(lookup=FOUND[reply.found], member=member, problem=problem)
    if isinstance(reply, GroupProposed):
        return wire.ProposeGroupStartResponse(
            vote=VOTE[reply.vote], earliest=write_instant(reply.earliest), start_at=write_instant(reply.start_at)
        )
    if isinstance(reply, ProposalOutcome):
        return wire.GetProposalResponse(outcome=OUTCOME[reply.outcome], start_at=write_instant(reply.start_at))
    assert isinstance(reply, Settled)
    return wire.SettleGroupStartResponse(current=reply.current)


def read_group_reply(message: WireGroupReply, peer: Domain) -> Reply:
    """Return a peer's reply; FieldError: the answer breaks the protocol."""
    if isinstance(message, wire.GetMemberResponse):
        return read_found(message, "member", peer)
    if isinstance(message, wire.SettleGroupStartResponse):
        return Settled(message.current)
    if isinstance(message, wire.ProposeGroupStartResponse):
        if message.vote not in _VOTE_OF:
            raise FieldError("vote", "is not known here")
        earliest = check_time("earliest", message.earliest) if message.HasField("earliest") else None
        return GroupProposed(_VOTE_OF[message.vote], read_start_at(message), earliest)
    if message.outcome not in _OUTCOME_OF:
        raise FieldError("outcome", "is not known here")
    return ProposalOutcome(_OUTCOME_OF[message.outcome], read_start_at(message))


def check_group_answer(request: ProposeGroupStart, reply: GroupProposed) -> None:
    """Check that the instant of a slot is one that answers the question for it; FieldError."""
    if request.not_before is None:
        return
    booked = reply.vote is Vote.BOOKED
    if reply.earliest is not None and reply.earliest < request.not_before:
        raise FieldError("earliest", "is before not_before")
    if booked and (not request.book or reply.earliest != request.not_before):
        raise FieldError("earliest", "is booked, but not not_before, or it was not to be")
