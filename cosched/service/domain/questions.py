"""What peers ask of a domain, and its answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import grpc

from cosched.core.coscheduling.names import NOT_WAITING, no_pair
from cosched.core.events import Asked
from cosched.core.protocol import (
    Domain,
    GetMateJobId,
    GetMember,
    JobId,
    Lookup,
    MateJobId,
    MateProblem,
    MateStarted,
    MateTried,
    MemberTold,
    MutatingReply,
    MutatingRequest,
    Reply,
    TellMember,
    named_id,
)
from cosched.service.domain.decisions import Decisions
from cosched.service.domain.late_answers import Late, LateAnswers
from cosched.service.domain.records import Records
from cosched.service.domain.turns import Turns
from cosched.service.store import AuditRecord, JobRecord, Store
from cosched.service.wire.errors import Refusal
from cosched.service.wire.fields import number

ANSWERS: dict[str, type[MutatingReply]] = {kind.__name__: kind for kind in (MateTried, MateStarted)}


class Questions:
    """The requests of peers."""

    def __init__(self, decisions: Decisions, records: Records, turns: Turns, store: Store) -> None:
        self._core = records.core
        self._decisions, self._records = decisions, records
        self._turns, self._store = turns, store
        self.late_answers = LateAnswers()
        self.all_in_turns = False  # also those that change nothing, which only a replay's story needs
        self.hears: Callable[[Domain, TellMember], None] = lambda *_: None  # of a job here

    def ask(self, asked: Asked, audit: AuditRecord | None = None) -> Reply | None:
        """Return the answer to a peer's request; None: it takes a while, see `late_answers`. Refusal.

        `audit`: the row of a request that changes something; of a question, if by it a job is adopted. An order about a
        job that does not start with the caller changes nothing: its row is not written.
        """
        self._recall(asked)
        peer, request = asked.peer, asked.request
        reply: Reply | None = None
        if isinstance(request, GetMember) and not self._records.scheduler.capabilities.groups:
            reply = no_pair(MateProblem.NO_GROUPS)
        elif not self._turns.problem and not self.all_in_turns:
            reply = self._core.incoming.known(peer, request)
        if reply is None:
            reply = self._told(asked, audit)
        if type(reply) is MateJobId and reply.problem is MateProblem.UNKNOWN:  # what is on record may say more
            assert isinstance(request, GetMateJobId | GetMember)
            return reply._replace(problem=self._problem_on_record(peer, request))
        return reply

    def _told(self, asked: Asked, audit: AuditRecord | None) -> Reply | None:
        """Tell the core in a turn what is asked; return its answer."""
        peer, request = asked.peer, asked.request
        lone, of_mates = None, False
        if isinstance(request, GetMateJobId | GetMember):
            lone = self._core.jobs.get(named_id(request) or "")
            lone = None if lone is None or lone.group is not None else lone  # it may be adopted
        else:
            of_mates = self._core.names.starting_with(peer, request.caller, request.job) is not None
        with self._turns.take() as changes:
            if not self._decisions.hear(peer, asked):
                raise Refusal(grpc.StatusCode.INVALID_ARGUMENT, "ILLEGAL", "the job is in no state that allows this")
            if audit is not None and (of_mates or (lone is not None and lone.group is not None)):
                changes.audits.append(audit)
        if not isinstance(request, Late):
            return changes.reply
        for each in changes.replies:  # others, and news, may have been answered in the same turn
            if (each.peer, each.request) == (peer, request):
                return each.answer
        return None

    def told(self, peer: Domain, news: Sequence[TellMember]) -> tuple[dict[TellMember, MemberTold], list[TellMember]]:
        """Hear what a peer tells of its own jobs, all in one turn. Refusal.

        Return the answers, and what is answered later: a running job may have to ask first. What is missing, of jobs
        that are unknown here or have long ended, nobody wants to hear.
        """
        known = [request for request in dict.fromkeys(news) if request.job in self._core.jobs]
        told: dict[TellMember, MemberTold] = {}
        heard: list[TellMember] = []
        if known:
            with self._turns.take() as changes:
                heard = [request for request in known if self._decisions.hear(peer, Asked(peer, request))]
            for request, answer in ((reply.request, reply.answer) for reply in changes.replies if reply.peer == peer):
                if isinstance(request, TellMember) and isinstance(answer, MemberTold):
                    told[request] = answer
        for request in known:
            self.hears(peer, request)
        return told, [request for request in heard if request not in told]

    def _problem_on_record(self, peer: Domain, request: Lookup) -> MateProblem:
        """Return how a job that may be heard of has ended; of any other, that there is none, as far as can be told."""
        id = number(named_id(request) or "")
        record = self._store.job(id) if id is not None else None
        if record is not None and record.state.final and self._is_for(peer, request, record):
            return NOT_WAITING[record.state]
        return MateProblem.UNKNOWN if self._records.scheduler.capabilities.all_jobs else MateProblem.NOT_WAITING

    def _is_for(self, peer: Domain, request: Lookup, record: JobRecord) -> bool:
        """Return whether a job on record is this owner's, and the peer may hear of it; as in `Names`."""
        if record.owner != self._core.names.owner_here(peer, request.owner):
            return False
        adoptable = record.job.adoptable and not record.paired
        return peer in record.mates or self._core.names.may_adopt(peer, adoptable=adoptable, held=False)

    def _recall(self, asked: Asked) -> None:
        """A job that has ended is not in memory for long; its mate may still ask."""
        peer, request = asked.peer, asked.request
        if isinstance(request, GetMateJobId | GetMember):
            if self._core.names.find(peer, request) is None:
                self._recall_job(self._ended(peer, request), peer, request.caller)
        elif request.job not in self._core.jobs and (id := number(request.job)) is not None:
            self._recall_job(self._store.job(id), peer, request.caller)
        last, key = self._core.answers.last, (peer, request.caller)
        if isinstance(request, MutatingRequest) and key not in last and (kept := self._store.answer(*key)) is not None:
            request_id, kind, values = kept
            self._core.answers.keep(request.job, *key, request_id, ANSWERS[kind](*values))

    def _ended(self, peer: Domain, request: Lookup) -> JobRecord | None:
        owner = self._core.names.owner_here(peer, request.owner)
        if isinstance(request, GetMember):
            return self._store.ended_member(owner, request.group)
        mate = None if request.pair is not None else request.caller
        return self._store.ended_mate(peer, owner, request.pair, mate)

    def _recall_job(self, record: JobRecord | None, peer: Domain, caller: JobId) -> None:
        if record is None or str(record.id) in self._core.jobs or not record.state.final:
            return
        job = record.job
        if job.group is not None and peer in job.group.others and job.group.jobs.get(peer, caller) == caller:
            now = self._records.journal.clock.now()
            self._core.recover(job, record.submitted_at, now)
            self._records.forget_later(str(record.id), now)
