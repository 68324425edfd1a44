"""What comes of a domain's calls to its peers."""

from __future__ import annotations

from collections.abc import Mapping

from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.coscheduling.membership import Membership
from cosched.core.effects import Call
from cosched.core.events import Answered, CallFailed, MateHeardOf
from cosched.core.protocol import (
    Domain,
    Found,
    GetMateJobId,
    JobId,
    MateJobId,
    MateStatus,
    Reply,
    SettleGroupStart,
)
from cosched.service.domain.decisions import Decisions
from cosched.service.domain.records import Records
from cosched.service.domain.story import Noted
from cosched.service.domain.turns import Turns, in_turn
from cosched.service.wire.message_parts import FOUND, STATUS


class Calls:
    """The answers of peers."""

    def __init__(self, decisions: Decisions, records: Records, turns: Turns) -> None:
        self.turns = turns
        self._core = records.core
        self._decisions = decisions
        self._records = records
        self._journal = records.journal

    @in_turn
    def answered(self, call: Call, reply: Reply) -> None:
        """A peer's answer to a call."""
        job = self._core.jobs.get(call.job)
        if job is not None and (job.group is not None or isinstance(call.request, SettleGroupStart)):
            self._answered_to_member(call, reply, job.group)
            return
        if job is None or not self._core.awaits(job, call.request):
            return
        self._keep(job, reply)
        if job.unanswered and job.call is call.request:
            self._journal.note(call.job, Noted.ANSWERED, peer=call.peer, call=type(call.request).__name__)
        self._decisions.hear(call.peer, Answered(call.job, call.request, reply, call.peer))

    def _answered_to_member(self, call: Call, reply: Reply, group: Membership | None) -> None:
        if group is not None and call.peer in group.unanswered:
            self._journal.note(call.job, Noted.ANSWERED, peer=call.peer, call=type(call.request).__name__)
        self._decisions.hear(call.peer, Answered(call.job, call.request, reply, call.peer))

    @in_turn
    def failed(self, call: Call, failed: CallFailed, problem: str) -> None:
        """A call got no answer."""
        job = self._core.jobs.get(call.job)
        of_pair = job is not None and job.group is None and not isinstance(call.request, SettleGroupStart)
        if job is None or (of_pair and job.call is not call.request):
            return
        told = job.unanswered or not of_pair if job.group is None else call.peer in job.group.unanswered
        if not told:  # else that was told, and the call is repeated each second
            what = type(call.request).__name__
            self._journal.note(call.job, Noted.NO_ANSWER, peer=call.peer, call=what, problem=problem)
        self._decisions.hear(call.peer, failed)

    @in_turn
    def heard_of_members(self, job: JobId, answers: Mapping[Domain, MateJobId]) -> None:
        """What other domains said of their members, when a job was submitted or joined its group."""
        for peer, answer in answers.items():
            known = self._core.jobs.get(job)
            if known is not None and known.group is not None:
                self._decisions.hear(peer, MateHeardOf(job, answer, peer))

    def _keep(self, job: PairedJob, reply: Reply) -> None:
        """Keep what the mate's domain says of it, for those who ask."""
        if (record := self._records.jobs.get(job.id)) is None:
            return
        before = record.lookup, record.mate_status
        if type(reply) is MateJobId:
            asked = job.pair is not None and job.mate is not None  # the mate itself has asked for the job meanwhile
            record.lookup = FOUND[Found.MATE if asked and reply.found is Found.UNSUBMITTED else reply.found]
        elif type(reply) is MateStatus:
            record.mate_status = STATUS[reply.status]
        record.heard_at = self._journal.now
        if before != (record.lookup, record.mate_status):
            self._journal.save(record)

    @in_turn
    def heard(self, peer: Domain, question: GetMateJobId, answer: MateJobId) -> None:
        """What a mate's domain said of a mate, beside the job's own questions."""
        job = self._core.jobs.get(question.caller)
        if job is None or (job.peer, job.pair) != (peer, question.pair):  # it was unlinked meanwhile
            return
        self._keep(job, answer)
        self._decisions.hear(peer, MateHeardOf(job.id, answer))
