"""What a script does to a domain of a replay in lock-step, as it is done in a simulation (`cosched_sim.what_if`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial

from cosched.core.events import NodesLost, PeerThere
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, Domain, JobId
from cosched.core.scheduling.scheduler import LosesNodes
from cosched.core.settings import Scheme
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.replay.paced_outside import CallNotes
from cosched.service.replay.submissions import Submissions
from cosched.service.wire.fields import FieldError
from cosched.v1 import replay_pb2 as wire

OF_NODES = (wire.DOMAIN_CHANGE_DRAINED, wire.DOMAIN_CHANGE_DOWN, wire.DOMAIN_CHANGE_UP)


@dataclass(frozen=True, slots=True)
class ScriptedDomain:
    """Changes of one domain that are not in its trace."""

    _domain: LiveDomain
    _submissions: Submissions
    _calls: CallNotes
    _settled: Callable[[], Awaitable[None]]  # waits for all that follows from the last turn
    _fail: Callable[[JobId], object]  # has a running job fail, in a turn
    _peers: Collection[Domain]

    async def carry_out(self, said: wire.ChangeDomainRequest) -> None:
        """Change the domain; FieldError."""
        if said.change in OF_NODES:
            await self._change_nodes(said.change, said.nodes)
            return
        changes: Mapping[int, Callable[[], None]] = {
            wire.DOMAIN_CHANGE_SCHEME: partial(self._switch_scheme, said.domain, said.scheme),
            wire.DOMAIN_CHANGE_CUT: partial(self._calls.cut.add, said.domain),
            wire.DOMAIN_CHANGE_MENDED: partial(self._calls.cut.discard, said.domain),
            wire.DOMAIN_CHANGE_THERE: partial(self._domain.decisions.feed, PeerThere(said.domain)),
        }
        if said.change not in changes:
            raise FieldError("change", "is not one that is known here")
        if said.domain not in (*self._peers, self._domain.name):
            raise FieldError("domain", "is not one that is known here")
        with self._domain.turns.take():
            changes[said.change]()

    async def _change_nodes(self, change: int, nodes: int) -> None:
        scheduler = self._domain.scheduler
        if not isinstance(scheduler, LosesNodes):
            raise FieldError("change", "is of nodes, which do not leave service by this scheduler")
        if nodes < 1:
            raise FieldError("nodes", "is not a number of nodes")
        with self._domain.turns.take():
            if change == wire.DOMAIN_CHANGE_UP:
                scheduler.bring_back(nodes)
            else:
                scheduler.drain(nodes)
        if change == wire.DOMAIN_CHANGE_DOWN:
            await self._take_from_jobs(scheduler)

    async def _take_from_jobs(self, scheduler: LosesNodes) -> None:
        for job in self._occupants() if scheduler.draining else ():
            if not scheduler.draining:
                return
            with self._domain.turns.take():
                if self._domain.state(job) is JobState.HOLDING:
                    scheduler.lose(job, self._domain.clock.now())
                    self._domain.decisions.feed(NodesLost(job))
                else:
                    self._fail(job)
            await self._settled()

    def _occupants(self) -> list[JobId]:
        """Return the jobs that have nodes, holding ones first, then the latest started."""
        jobs = self._domain.core.jobs
        since = {job: jobs[job].started_at for job in self._domain.jobs if jobs[job].state is JobState.RUNNING}
        since |= {job: FOREVER for job in self._domain.jobs if jobs[job].state is JobState.HOLDING}
        return sorted(since, key=lambda job: (since[job], int(job)), reverse=True)

    def _switch_scheme(self, whose: Domain, scheme: str) -> None:
        """Follow another scheme of this domain, or hear of another domain's."""
        if scheme not in list(Scheme):
            raise FieldError("scheme", f"is not one of {', '.join(Scheme)}")
        core, chosen = self._domain.core, Scheme(scheme)
        if whose == self._domain.name:
            core.ledger.configure(replace(core.settings, scheme=chosen))
            self._domain.scheduler.reschedule()
        else:
            self._submissions.note_off(whose, chosen is Scheme.OFF)
        for job in self._domain.jobs:
            self._submissions.count_paired(job)
