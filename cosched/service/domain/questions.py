"""What peers ask of a domain, and its answers."""

from __future__ import annotations

import grpc

from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.coscheduling.names import NOT_WAITING, no_pair
from cosched.core.events import Asked
from cosched.core.job import JobState
from cosched.core.protocol import (
    Domain,
    GetMateJobId,
    GetMateStatus,
    GetMember,
    JobId,
    Lookup,
    MateJobId,
    MateProblem,
    MateStarted,
    MateTried,
    MutatingReply,
    MutatingRequest,
    Reply,
    Request,
    named_id,
)
from cosched.service.domain.decisions import Decisions
from cosched.service.domain.late_answers import LateAnswers
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
        self._decisions = decisions
        self._records = records
        self._turns = turns
        self._store = store
        self.late_answers = LateAnswers()

    def ask(self, asked: Asked, audit: AuditRecord | None = None) -> Reply | None:
        """A peer's request and its answer; None: it takes a while, see `late_answers`. Refusal.

        `audit`: the row of a request that changes something; of a question, if by it a job is adopted. An order about a
        job that does not start with the caller changes nothing: its row is not written.
        """
        self._recall(asked)
        if not self._turns.problem and (answer := self._known(asked)) is not None:
            return self._explained(asked, answer)
        with self._turns.take() as changes:
            is_question = isinstance(asked.request, GetMateJobId | GetMember)
            lone, of_mates = self._lone_job(asked.request), not is_question and self.is_of_mates(asked)
            if not self._decisions.hear(asked.peer, asked):
                raise Refusal(grpc.StatusCode.INVALID_ARGUMENT, "ILLEGAL", "the job is in no state that allows this")
            if audit is not None and (of_mates or (is_question and lone is not None and lone.group is not None)):
                changes.audits.append(audit)
        return self._explained(asked, changes.reply)

    def is_of_mates(self, asked: Asked) -> bool:
        """Return whether the two jobs of a request that names both start together."""
        request = asked.request
        assert not isinstance(request, GetMateJobId | GetMember)
        return self._core.names.starts_with(asked.peer, request.caller, request.job)

    def _lone_job(self, request: Request) -> PairedJob | None:
        """Return the job that names nobody, which a question names by its id."""
        job = self._core.jobs.get(named_id(request) or "")
        return job if job is not None and job.group is None else None

    def _explained(self, asked: Asked, reply: Reply | None) -> Reply | None:
        """The answer, with what is on record of a mate that is not in memory (any more)."""
        request = asked.request
        if type(reply) is MateJobId and reply.problem is MateProblem.UNKNOWN:
            assert isinstance(request, GetMateJobId | GetMember)
            return reply._replace(problem=self._problem_on_record(asked.peer, request))
        return reply

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
        return peer in record.mates or self._core.names.may_adopt(peer, adoptable=record.adoptable, held=False)

    def _known(self, asked: Asked) -> Reply | None:
        """The answer to a question, if it changes nothing here: that needs no turn."""
        peer, request = asked.peer, asked.request
        if type(request) is GetMateStatus:
            job = self._core.jobs.get(request.job)
            if job is None or job.state is not JobState.READY or job.disclosed:
                return self._core.incoming.mate_status(peer, request)
        elif isinstance(request, GetMateJobId | GetMember):
            if isinstance(request, GetMember) and not self._records.scheduler.capabilities.groups:
                return no_pair(MateProblem.NO_GROUPS)
            found = self._core.names.find(peer, request)
            if found is None and isinstance(request, GetMember) and request.member is not None:
                return None  # that job may become a member
            knows = found is not None and found.group is not None and found.group.jobs.get(peer) == request.caller
            if found is None or knows or found.mate is not None:  # else the caller may become its mate, or member
                return self._core.names.answer(peer, request)
        return None

    def _recall(self, asked: Asked) -> None:
        """A job that has ended is not in memory for long; its mate may still ask."""
        peer, request = asked.peer, asked.request
        if isinstance(request, GetMateJobId | GetMember):
            if self._core.names.find(peer, request) is None:
                self._recall_job(self._ended(peer, request), peer, request.caller)
        elif request.job not in self._core.jobs and (id := number(request.job)) is not None:
            self._recall_job(self._store.job(id), peer, request.caller)
        if isinstance(request, MutatingRequest) and self._core.answers.last_answer(peer, request.caller) is None:
            kept = self._store.answer(peer, request.caller)
            if kept is not None:
                request_id, kind, values = kept
                self._core.answers.recover_answer(peer, request.caller, request_id, ANSWERS[kind](*values))

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
