"""N policy domains with an in-memory link and timers on one virtual clock: the shell of the core in a simulation.

It is told what happens to paired jobs, hands these events to each `PolicyDomain` and does what comes back. Calls
between domains are answered at once, so equal inputs give equal outputs to the byte. Who leads it through time is
`federation.batch_world`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, assert_never

from cosched.core import events, protocol
from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.coscheduling.following import STATES
from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.domain import PolicyDomain
from cosched.core.effects import Answer, Call, CancelJob, EndRun, Record
from cosched.core.events import Answered, Asked, CallFailed, Event, Finished, Ready, Submitted
from cosched.core.job import WAITING, JobState
from cosched.core.protocol import Domain, EndedBy, GetMateJobId, GetMateStatus, JobId, Named, Reply, Request, TellMember
from cosched.core.scheduling.batch.cluster import Cluster
from cosched.core.scheduling.batch.kernels import answers
from cosched.core.scheduling.primitives.compiled import direct
from cosched.core.scheduling.primitives.tables import NEVER
from cosched.core.timers import TimerQueue
from cosched_sim.batch_domain import MeetingDomain
from cosched_sim.domain_setup import DomainSetup, batch_domain, check_slots, filled_tables
from cosched_sim.holds_and_yields import HoldEnd
from cosched_sim.link import Link, Untold
from cosched_sim.questions import Questions, skippable
from cosched_sim.telling import Story, told_of_call
from cosched_sim.what_if import WhatIf
from cosched_sim.workload.pairing import Pairing


class World:
    """Policy domains with batch schedulers, all in one set of tables; read `tables`, `coschedulers` and `now`."""

    def __init__(
        self,
        domains: Sequence[DomainSetup],
        pairing: Pairing,
        script: WhatIf | None = None,
        story: Story | None = None,
        *,
        elsewhere: Collection[Domain] = (),
        link: Link | None = None,
    ) -> None:
        """`pairing`: that of `domains`. Some may be `elsewhere`: called, and calling, by the `link`."""
        self.domains = [domain for domain in domains if domain.name not in elsewhere]
        self.pairing = pairing
        self.story = story
        self.now = 0
        self.tables = filled_tables(self.domains)
        self.first = [int(first) for first in self.tables.domains["first"]]
        self._hold_limit, self._offered = self.tables.domains["hold_limit"].item, self.tables.domains["offered"].item
        self.schedulers = [batch_domain(self.tables, i, domain.cluster) for i, domain in enumerate(self.domains)]
        self.clusters: list[Cluster] = [scheduler.cluster for scheduler in self.schedulers]
        tells = story is not None
        self.coschedulers = [Coscheduler(d.name, d.cluster.nodes, d.coscheduling, story=tells) for d in self.domains]
        self.timers = timers = TimerQueue()
        both = zip(self.coschedulers, self.schedulers, strict=True)
        self.policies = [PolicyDomain(*each, timers=timers) for each in both]
        self.index = timers.order = {domain.name: i for i, domain in enumerate(self.domains)}
        self._named: dict[int, Named] = {}  # by row
        self.job_id: dict[int, JobId] = {}  # row -> job id, of paired jobs
        self.script = script or WhatIf()
        self._scripted = self.script.next() < NEVER
        self._cut: set[frozenset[int]] = set()
        self._reply: Reply | None = None
        self.link = link or Link()
        for name in self.index:
            self.link.join(name, self)
        self._off_elsewhere = {d.name for d in domains if d.name in elsewhere and not d.coscheduling.enabled}
        self._chance = partial(direct(answers.chance), self.tables)
        may_skip = not tells and not elsewhere and self.script.is_empty
        others: dict[int, list[tuple[int, int]]] = {}  # by row, with rows
        for (domain, job), mates in skippable(domains, pairing) if may_skip else ():
            others[self.first[domain] + job] = [(of, self.first[of] + mate) for of, mate in mates]
        self._questions = Questions(others, self._chance)
        self._link_pairs(domains)

    def submitted(self, domain: int, row: int) -> None:
        self.feed(domain, Submitted(self.job_id[row], self._named[row]))

    def ended(self, domain: int, row: int) -> None:
        self.feed(domain, Finished(self.job_id[row], JobState.COMPLETED))

    def ready(self, domain: int, row: int) -> None:
        """Note that a job is ready: afterwards it runs, holds or is passed over, or a peer is to be asked again."""
        if row in self._questions.others and self._questions.in_vain(row):
            self.policies[domain].yield_again(self.job_id[row], self.now)
            return
        self.feed(domain, Ready(self.job_id[row], self.clusters[domain].has(row), self._hold_limit(domain)))
        if self._offered(domain) == row:
            self.schedulers[domain].late[row] = self.now
        if self.link.untold:
            self.deliver()

    def meet(self, domain: int) -> None:
        """Let a domain that meets iterate until nothing changes."""
        scheduler = self.schedulers[domain]
        assert isinstance(scheduler, MeetingDomain)
        while (turn := scheduler.cluster.meet(self.now)) is not None:
            if turn.ready:
                self.ready(domain, turn.row)
            else:
                self.feed(domain, events.MayBeEarlier(self.job_id[turn.row]))
                self.deliver()

    # What a script does to jobs: see `what_if.Stage`

    def cancel(self, name: Domain, job: int, by: EndedBy = EndedBy.OWNER) -> bool:
        domain, row = self._place(name, job)
        before = self.clusters[domain].state(row)
        self.clusters[domain].cancel(row, self.now)
        if row not in self.job_id or before.final:
            return not before.final
        if before is JobState.PENDING:
            self.submitted(domain, row)  # so that its mate learns of the job
        self.feed(domain, Finished(self.job_id[row], JobState.CANCELLED, by))
        self.schedulers[domain].holds.end(row, self.now, HoldEnd.CANCELLED)
        return True

    def end_run(self, name: Domain, job: int, how: JobState) -> bool:
        domain, row = self._place(name, job)
        if self.clusters[domain].state(row) is not JobState.RUNNING:
            return False
        self.clusters[domain].finish(row, self.now, how)
        if row in self.job_id:
            self.feed(domain, Finished(self.job_id[row], how))
        return True

    def requeue(self, name: Domain, job: int) -> bool:
        domain, row = self._place(name, job)
        if self.clusters[domain].state(row) is not JobState.RUNNING:
            return False
        self.schedulers[domain].requeue(job, self.now)
        if row in self.job_id:
            self.feed(domain, events.Requeued(self.job_id[row]))
        return True

    def unlink(self, name: Domain, job: int) -> bool:
        domain, row = self._place(name, job)
        known = self._known(domain, row)
        if known is None or known.state not in WAITING or known.group is None:
            return False
        self._name(domain, row, events.Unlinked(known.id), protocol.NO_MATE)
        return True

    def replace(self, name: Domain, job: int, new: int) -> bool:
        domain, row = self._place(name, job)
        other, old = row - job + new, self._known(domain, row)
        state, named = self.clusters[domain].state(other), self._named[row]
        if (old is not None and old.runs) or state not in (JobState.PENDING, *WAITING):
            return False
        self.cancel(name, job)
        if state is JobState.PENDING:
            self._named[other] = named
        else:
            self._name(domain, other, events.Linked(self.job_id[other], named), named)
        self.note_paired()
        return True

    def _name(self, domain: int, row: int, event: events.Linked | events.Unlinked, named: Named) -> None:
        self._named[row] = named
        self.feed(domain, event)
        self.note_paired()

    def _place(self, name: Domain, job: int) -> tuple[int, int]:
        domain = self.index[name]
        return domain, self.first[domain] + job

    def _known(self, domain: int, row: int) -> PairedJob | None:
        return self.coschedulers[domain].jobs.get(self.job_id.get(row, ""))

    def rows(self, domain: int) -> Any:
        """Return the records of a domain's jobs, in trace order."""
        first = self.first[domain]
        return self.tables.jobs[first : first + len(self.domains[domain].workload)]

    def paired_outcomes(self, domain: int) -> Iterator[tuple[int, PairedJob, int]]:
        """Yield for each submitted paired job its row in the workload, its record, and the node-seconds held so far."""
        for job in self.coschedulers[domain].jobs.values():
            held = job.held_node_seconds
            if job.state is JobState.HOLDING:
                held += job.nodes * (self.now - job.held_since)
            yield self.schedulers[domain].row[job.id] - self.first[domain], job, held

    def feed(self, domain: int, event: Event) -> None:
        """Pass an event to a domain and carry out the changes that it returns."""
        for change in self.policies[domain].handle(event, self.now):
            if isinstance(change, Call):  # first what is most frequent
                self._call(domain, change)
            elif isinstance(change, Answer):
                if type(change.request) is TellMember:
                    name, request = self.domains[domain].name, change.request
                    self.link.tell(change.peer, Answered(request.caller, request, change.answer, name))
                else:
                    self._reply = change.answer
            elif isinstance(change, Record):
                if self.story is not None:
                    self.story(self.now, self.domains[domain].name, change.job, change.what, change.stored())
            elif isinstance(change, CancelJob | EndRun):
                self.link.tell(self.domains[domain].name, change)
            # else a job starts, which needs no launch here, or is wanted; batch schedulers do nothing else

    def _call(self, domain: int, call: Call) -> None:
        request = call.request
        if type(request) is TellMember:
            self.link.tell(call.peer, Asked(self.domains[domain].name, request))
            return
        peer = self.index.get(call.peer)
        if self._cut and peer is not None and frozenset((domain, peer)) in self._cut:
            self.feed(domain, CallFailed(call.job, request, protocol.Failure.UNREACHABLE, call.peer))
            return
        name = self.domains[domain].name
        if peer is None:
            reply = self.link.call(call.peer, Asked(name, request), self.now)
        else:
            reply = self._ask(name, peer, request)
        if self.story is not None:
            self.story(self.now, name, call.job, type(request).__name__, told_of_call(call, reply))
        self.feed(domain, Answered(call.job, request, reply, call.peer))

    def _ask(self, name: Domain, peer: int, request: Request) -> Reply:
        core = self.coschedulers[peer]
        if type(request) is GetMateStatus:
            return core.incoming.mate_status(name, request)
        if type(request) is GetMateJobId:
            answer = core.names.answer(name, request)
            if answer.job is not None or answer.problem is not protocol.MateProblem.TAKEN:
                return answer
        outer, self._reply = self._reply, None  # this domain may be about to answer another one
        self.feed(peer, Asked(name, request))
        reply, self._reply = self._reply, outer
        assert reply is not None
        return reply

    def answer(self, domain: Domain, asked: Asked, now: int) -> Reply:
        self.now = now
        return self._ask(asked.peer, self.index[domain], asked.request)

    def chance(self, domain: Domain, job: int) -> int:
        return self._chance(*self._place(domain, job))

    def deliver(self) -> None:
        """Have domains hear what they are to hear at this instant."""
        if self.link.untold:
            self.link.deliver(self.now, self.index)

    def hear(self, domain: Domain, told: Untold, now: int) -> None:
        self.now, here = now, self.index[domain]
        if isinstance(told, CancelJob | EndRun):
            self.clusters[here].interrupt()  # its jobs come and go
        match told:
            case Asked():
                self._hear(here, told)
            case Answered():
                self.feed(here, told)
            case CancelJob():
                self.cancel(domain, self._job(here, told.job), EndedBy.MATE)
            case EndRun(again=True):
                self.requeue(domain, self._job(here, told.job))
            case EndRun():
                self.end_run(domain, self._job(here, told.job), STATES[told.why])
            case _:
                assert_never(told)

    def _hear(self, domain: int, asked: Asked) -> None:
        caller = self.index.get(asked.peer)
        if caller is None or frozenset((domain, caller)) not in self._cut:
            self.feed(domain, asked)
            return
        name, request = self.domains[domain].name, asked.request
        self.feed(caller, CallFailed(request.caller, request, protocol.Failure.UNREACHABLE, name))

    def _job(self, domain: int, job: JobId) -> int:
        return self.schedulers[domain].row[job] - self.first[domain]

    def cut_link(self, one: int, other: int) -> None:
        """Make calls between two domains fail from now on."""
        self._cut.add(frozenset((one, other)))

    def mend_link(self, one: int, other: int) -> None:
        """Undo `cut_link`."""
        self._cut.discard(frozenset((one, other)))
        for domain, peer in ((one, other), (other, one)):
            self.feed(domain, events.PeerThere(self.domains[peer].name))

    def next_stop(self) -> int:
        """Return the next instant at which timers or events of the script are due, or NEVER."""
        timers = self.timers.next()  # instants are whole here
        return min(timers, self.script.next()) if self._scripted else timers  # type: ignore[return-value]

    def fire_timers(self) -> None:
        """Fire the timers, domain by domain."""
        self._fire(of_slots=False)

    def fire_slots(self) -> None:
        """Fire the timers of slots: after all others, which may give nodes back."""
        self._fire(of_slots=True)

    def _fire(self, *, of_slots: bool) -> None:
        while (due := self.timers.take(self.now, of_slots=of_slots)) is not None:
            domain, event = due
            self.feed(self.index[domain], event)

    def _link_pairs(self, domains: Sequence[DomainSetup]) -> None:
        for group in self.pairing.groups:
            check_slots(group, domains)
        names = [domain.name for domain in domains]
        for name, of_jobs in zip(names, self.pairing.named_by_domain(names), strict=True):
            if name in self.index:
                self._note(self.index[name], of_jobs)
        for name, job in self.script.joining:
            self._note(self.index[name], {job: protocol.NO_MATE})
        self.note_paired()

    def _note(self, domain: int, named: Mapping[int, Named]) -> None:
        rows = [self.first[domain] + job for job in named]
        ids = list(map(str, self.domains[domain].workload.job_id[[*named]].tolist()))
        self._named.update(zip(rows, named.values(), strict=True))
        self.job_id.update(zip(rows, ids, strict=True))
        self.schedulers[domain].row.update(zip(ids, rows, strict=True))
        self.tables.jobs["paired"][rows] = 1

    def note_paired(self) -> None:
        """Dry runs count a job as paired unless coscheduling is off in its domain, or in those of all its mates."""
        off = self._off_elsewhere | {each.ledger.domain for each in self.coschedulers if not each.settings.enabled}
        for setup, scheduler in zip(self.domains, self.schedulers, strict=True):
            for job, row in scheduler.row.items():
                named = self._named[row]
                alone = named is protocol.NO_MATE or off.issuperset(named.others)
                scheduler.count_paired(job, setup.name not in off and not alone)
