"""What comes of a domain's calls to its peers."""

from __future__ import annotations

from collections.abc import Mapping

from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.effects import Call
from cosched.core.events import Answered, CallFailed, MateHeardOf
from cosched.core.protocol import (
    Domain,
    Failure,
    Found,
    GetMateStatus,
    JobId,
    MateJobId,
    MateStatus,
    MemberTold,
    Named,
    Reply,
)
from cosched.service.domain.decisions import Decisions
from cosched.service.domain.records import Records
from cosched.service.domain.story import Noted
from cosched.service.domain.turns import Turns, in_turn
from cosched.service.store import JobRecord
from cosched.service.wire.message_parts import FOUND, STATUS


class Calls:
    """The answers of peers."""

    def __init__(self, decisions: Decisions, records: Records, turns: Turns) -> None:
        self.turns = turns
        self.states = records.states
        self._core = records.core
        self._decisions, self._records = decisions, records
        self._journal = records.journal

    @in_turn
    def answered(self, call: Call, reply: Reply) -> None:
        """Take a peer's answer to a call."""
        job = self._awaiting(call)
        if job is None:
            return
        asks = self._core.awaits(job, call.peer, call.request)
        if asks and job.group is not None and call.peer in job.group.unanswered:
            self._journal.note(call.job, Noted.ANSWERED, peer=call.peer, call=type(call.request).__name__)
        if type(reply) is MateStatus and type(call.request) is GetMateStatus:
            self.states.note(call.job, call.peer, call.request.job, reply, self._journal.now)
        if job.is_pair and not isinstance(reply, MemberTold):
            self._keep(job, reply)
        self._decisions.hear(call.peer, Answered(call.job, call.request, reply, call.peer))

    @in_turn
    def failed(self, call: Call, failed: CallFailed, problem: str) -> None:
        """Note that a call got no answer."""
        job = self._awaiting(call)
        if job is None:
            return
        told = failed.failure is Failure.REFUSED and self._records.is_refused(call.job)
        is_new = job.group is not None and call.peer not in job.group.unanswered and not told  # else it is repeated
        if is_new and self._core.awaits(job, call.peer, call.request):
            what = type(call.request).__name__
            self._journal.note(call.job, Noted.NO_ANSWER, peer=call.peer, call=what, problem=problem)
        self._decisions.hear(call.peer, failed)

    def _awaiting(self, call: Call) -> PairedJob | None:
        """Return the job that awaits the answer to this call; None: nobody does any more."""
        job = self._core.jobs.get(call.job)
        if job is None:
            return None
        news, checks = job.news.get(call.peer), job.group.checks if job.group is not None else {}
        beside = (news.request if news is not None else None, checks.get(call.peer))  # the story does not tell these
        return job if call.request in beside or self._core.awaits(job, call.peer, call.request) else None

    def _keep(self, job: PairedJob, reply: Reply) -> None:
        """Keep what the mate's domain says of it, for those who ask."""
        if (record := self._records.jobs.get(job.id)) is None:
            return
        before = record.lookup, record.mate_status
        if type(reply) is MateJobId and reply.found in FOUND:
            asked = job.pair is not None and job.mate is not None  # the mate itself has asked for the job meanwhile
            record.lookup = FOUND[Found.MATE if asked and reply.found is Found.UNSUBMITTED else reply.found]
        elif type(reply) is MateStatus:
            record.mate_status = STATUS[reply.status]
        if type(reply) is MateStatus or not record.mate_status:  # else the state is as old as it was
            record.heard_at = self._journal.now
        if before != (record.lookup, record.mate_status):
            self._journal.save(record)

    def told_state(self, record: JobRecord, peer: Domain, mate: JobId, reply: MateStatus) -> None:
        """Note how a mate stands, asked for those who look at the job."""
        if record.mates.get(peer) != mate:
            return
        now = self._journal.clock.now()
        self.states.note(str(record.id), peer, mate, reply, now)
        if record.is_pair:
            before, record.mate_status, record.heard_at = record.mate_status, STATUS[reply.status], now
            if record.mate_status != before and str(record.id) in self._records.jobs:
                self.turns.happen(self._journal.save, record)

    @in_turn
    def heard(self, job: JobId, named: Named, answers: Mapping[Domain, MateJobId]) -> None:
        """Note what other domains said of those that a job names, beside its own questions."""
        for peer, answer in answers.items():
            known = self._core.jobs.get(job)
            if known is None or known.group is None or (known.group.name, known.is_pair) != (named.name, named.is_pair):
                return  # it was linked with others meanwhile, or unlinked
            if peer in known.group.others:
                if known.is_pair:
                    self._keep(known, answer)
                self._decisions.hear(peer, MateHeardOf(job, answer, peer))
