"""What a domain tells another of its own jobs, many in one message. Pure; checks what it reads.

NEWS in proto/cosched/v1/coscheduling.proto explains it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cosched.core.protocol import Domain, MemberTold, TellMember
from cosched.service.wire.fields import MAX_GENERATION, FieldError, WrongDomainError, check_job, check_job_of
from cosched.v1 import coscheduling_pb2 as wire

MAX_NEWS = 1000  # in one message
MAX_BYTES = 60_000  # of one message: a domain need not take longer ones
_FRAME = 4  # bytes around each at most


def write_news(news: Sequence[TellMember], here: Domain, peer: Domain) -> Iterator[wire.TellMembersRequest]:
    """Return the messages that tell all of it to the peer: one, but for very many."""
    message, size = wire.TellMembersRequest(), 0
    for told in news:
        job, caller = wire.JobRef(domain=peer, job_id=told.job), wire.JobRef(domain=here, job_id=told.caller)
        written = wire.MemberNews(job=job, caller=caller, number=told.number)
        size += written.ByteSize() + _FRAME
        if message.news and (size > MAX_BYTES or len(message.news) == MAX_NEWS):
            yield message
            message, size = wire.TellMembersRequest(), written.ByteSize() + _FRAME
        message.news.append(written)
    if message.news:
        yield message


def read_news(message: wire.TellMembersRequest, here: Domain) -> tuple[Domain, list[TellMember]]:
    """Return the domain that tells this one of its own jobs, and what it tells; FieldError."""
    if not 1 <= len(message.news) <= MAX_NEWS:
        raise FieldError("news", f"must be 1 to {MAX_NEWS}, are {len(message.news)}")
    peer, news = "", []
    for place, written in enumerate(message.news):
        field = f"news[{place}]"
        job = check_job_of(f"{field}.job", written.job, here)
        domain, caller = check_job(f"{field}.caller", written.caller)
        peer = peer or domain
        if domain != peer:
            raise WrongDomainError(f"{field}.caller.domain", "is not that of the first one's caller")
        if not 1 <= written.number <= MAX_GENERATION:
            raise FieldError(f"{field}.number", f"is not between 1 and {MAX_GENERATION}")
        news.append(TellMember(job, caller, written.number))
    return peer, news


def write_heard(told: Sequence[MemberTold]) -> wire.TellMembersResponse:
    """Return the answer: of each in order."""
    return wire.TellMembersResponse(heard=[one.heard for one in told])


def read_heard(message: wire.TellMembersResponse, number: int) -> list[MemberTold]:
    """Return what a peer answers to so many news; FieldError."""
    if len(message.heard) != number:
        raise FieldError("heard", f"must be {number}, are {len(message.heard)}")
    return [MemberTold(heard) for heard in message.heard]
