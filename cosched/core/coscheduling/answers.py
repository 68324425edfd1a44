"""The answers that peers' mutating calls got. A call is carried out once: a retry gets the first answer."""

from __future__ import annotations

from dataclasses import dataclass, field

from cosched.core.coscheduling.ledger import Ledger, PairedJob
from cosched.core.effects import Answer, Effect, Record
from cosched.core.protocol import (
    Domain,
    JobId,
    MateStarted,
    MateTried,
    MutatingReply,
    MutatingRequest,
    StartJob,
    TryStartMate,
    call_number,
)
from cosched.core.story import Detail, What

REFUSED: dict[type, MutatingReply] = {  # what a call is answered that changes nothing
    TryStartMate: MateTried(False),
    StartJob: MateStarted(False),
}


@dataclass
class Answers:
    """`last`: the id of each calling job's last mutating call, and its answer."""

    ledger: Ledger
    last: dict[tuple[Domain, JobId], tuple[str, MutatingReply]] = field(default_factory=dict)
    _about: dict[tuple[Domain, JobId], JobId] = field(default_factory=dict)  # of our jobs; the rest of the same calls
    _callers: dict[JobId, dict[tuple[Domain, JobId], None]] = field(default_factory=dict)  # the other way round

    def known(self, peer: Domain, request: MutatingRequest) -> MutatingReply | None:
        """Return the answer to a retry, or to a late copy of an earlier call; None: this call is new.

        A call of another kind that has the id of the last one is not a retry, and changes nothing.
        """
        last_id, answer = self.last.get((peer, request.caller), ("", None))
        if answer is None:
            return None
        refused = REFUSED[type(request)]
        if last_id == request.request_id:
            return answer if type(answer) is type(refused) else refused
        return refused if call_number(request.request_id) < call_number(last_id) else None

    def reply(
        self, job: PairedJob, peer: Domain, request: MutatingRequest, answer: MutatingReply, effects: list[Effect]
    ) -> list[Effect]:
        """Answer a call, after its effects, and keep the answer for a retry."""
        self.keep(job.id, peer, request.caller, request.request_id, answer)
        if self.ledger.story:
            told: Detail = {"request": request.request_id, "started": answer.started}
            effects = [Record(job.id, What.ANSWERS, None, told), *effects]
        return [*effects, Answer(peer, request, answer)]

    def keep(self, job: JobId, peer: Domain, caller: JobId, request_id: str, answer: MutatingReply) -> None:
        """Keep an answer about our job until that is forgotten."""
        key = peer, caller
        self.last[key] = request_id, answer
        if (before := self._about.get(key)) == job:
            return
        if before is not None:
            self._callers[before].pop(key, None)
        self._about[key] = job
        self._callers.setdefault(job, {})[key] = None

    def forget(self, job: PairedJob) -> None:
        """Drop the answers that the job's mate, and former ones, got. They may be recalled."""
        for key in self._callers.pop(job.id, ()):
            self.last.pop(key, None)
            del self._about[key]
