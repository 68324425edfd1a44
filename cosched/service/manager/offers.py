"""The work of a runner for a manager that schedules by itself: see `adapters.batch_system` and `offered_jobs`."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import assert_never

from cosched.core import effects
from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.coscheduling.mateless import Mateless
from cosched.core.coscheduling.membership import Membership
from cosched.core.job import WAITING, JobState
from cosched.core.protocol import Domain, JobId, MateProblem, Named, TellMember, named_mate
from cosched.service.domain import story
from cosched.service.domain.changes import Preempt, SystemOrder
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.domain.malleable import QUEUE
from cosched.service.domain.offered_jobs import OfferedJobs, Told
from cosched.service.manager.cancelling import Cancellations
from cosched.service.manager.launches import known_mates
from cosched.service.manager.runner import Work, tell_end
from cosched.service.manager.slot_orders import SlotOrders
from cosched.service.peers.announcing import Announcer
from cosched.service.peers.linking import LOOK, Coupled, mate_may_start, refusal_of
from cosched.service.store import JobRecord
from cosched.service.tasks import Tasks
from cosched.validation.group_windows import wrong_windows
from cosched.words.wrong_mates import ANY_OF, wrong_mate, wrong_member
from cosched_adapters import batch_system as batch
from cosched_adapters.manager import Ended, ManagerError, MustHoldError, NoRequeueError, Started
from cosched_adapters.slices import Slices

DOUBT = 1.0  # seconds after which a try will probably fail, since another job is in its way
WANTED_FIRST = 5.0  # seconds; a forced release takes one to three if Slurm answers
UNKNOWN_THERE = "its resource manager does not know it any more"
_LOG = logging.getLogger(__name__)


@dataclass(eq=False)
class Offers(Work[SystemOrder, batch.BatchReport]):
    """See Work."""

    problem = ""  # orders never wait here

    _domain: LiveDomain
    _jobs: OfferedJobs  # the domain's
    _system: batch.BatchSystem
    _announcer: Announcer
    _coupled: Coupled
    _tasks: Tasks
    _slots: SlotOrders | None = None  # of a domain whose pairs meet
    _finding: Mapping[str, str] = field(default_factory=dict)  # variables, beside COSCHED_MATES

    def __post_init__(self) -> None:
        self._requeues = Cancellations(self._domain, self._requeue, self._tasks)

    # Orders

    async def carry_out(self, order: SystemOrder) -> None:
        match order:
            case effects.Start():
                await self._start(order)
            case Preempt():
                self._requeues.begin(order.job)
            case effects.Yield() | effects.PassOver():
                await self._give_back(order)
            case effects.Release():
                await self._release(order)
            case effects.Try() | effects.TryReady():
                await self._try(order)
            case effects.Reschedule():
                await self._hasten(order)
            case effects.Quote() | effects.Book() | effects.Unbook() | effects.Claim() | effects.EndTurn():
                assert self._slots is not None, "only a scheduler that gives slots has such orders"
                await self._slots.carry_out(order)
            case _:
                assert_never(order)

    async def _start(self, start: effects.Start) -> None:
        if self._domain.state(start.job) in WAITING:  # it has lost its nodes meanwhile
            return
        record = self._domain.jobs.get(start.job)
        if record is not None and record.paired:
            await self._system.set_task_variables(start.job, {"COSCHED_MATES": known_mates(record), **self._finding})
        await self._system.start(start.job, start.at)

    async def _requeue(self, job: JobId) -> None:
        """Have a running job queued again, which is reported; ManagerError."""
        record = self._domain.jobs.get(job)
        if record is None or record.preempted_at is None:
            return
        try:
            await self._system.requeue(job)
        except NoRequeueError as error:
            self._domain.runs_on(job, str(error))

    async def _give_back(self, order: effects.Yield | effects.PassOver) -> None:
        try:
            backoff = self._system.pass_over if isinstance(order, effects.PassOver) else None
            await self._system.give_back(order.job, backoff, order.offer)
        except MustHoldError:  # a try has found it, which does not say so
            if (record := self._domain.jobs.get(order.job)) is not None:  # else it has ended meanwhile
                self._jobs.offered(order.job, record.nodes, can_yield=False, number=order.offer)
        finally:
            self._domain.decisions.giving_back.discard(order.job)

    async def _release(self, order: effects.Release) -> None:
        """End a hold. For a while, jobs whose mates hold nodes elsewhere come first."""
        scheduler = self._jobs.scheduler
        wanted = scheduler.wanted(self._domain.journal.now)
        with ExitStack() as order_ends, ExitStack() as while_it_lasts:
            order_ends.callback(self._domain.decisions.giving_back.discard, order.job)
            while_it_lasts.enter_context(scheduler.favouring(wanted))
            asyncio.get_running_loop().call_later(WANTED_FIRST, while_it_lasts.close)
            for job in wanted:
                self._tasks.run(self._hasten(effects.Reschedule(job)))
            await self._system.release(order.job, order.offer)

    async def _hasten(self, order: effects.Reschedule) -> None:
        try:
            await self._system.hasten(order.job)
        except ManagerError as error:
            _LOG.info("job %s: %s", order.job, error)

    async def _try(self, order: effects.Try | effects.TryReady) -> None:
        offer = 0
        doubt = asyncio.get_running_loop().call_later(DOUBT, self._jobs.give_way, order.job)
        try:
            offer = await (self._slots or self._system).try_start(order.job)
        finally:
            doubt.cancel()
            self._jobs.tried(order.job, offer)

    async def cancel(self, job: JobId) -> None:
        await self._system.cancel(job)

    # Reports

    def hear(self, report: batch.BatchReport) -> None:
        jobs = self._jobs
        match report:
            case batch.Appeared():
                self._appeared(report)
            case batch.Refused() | batch.Divided() | batch.Gone():
                self._mateless(report)
            case batch.Relinked():
                self._relinked(report)
            case batch.Offered():
                job, number = report.job_id, report.number
                told = Told(report.account, _columns(report.queue))
                jobs.offered(job, report.nodes, can_yield=report.can_yield, number=number, told=told)
            case batch.Withdrawn():
                jobs.withdrawn(report.job_id)
            case batch.Resized():
                jobs.resized(report.job_id, report.nodes)
            case batch.Freed():
                self._freed()
            case Started():
                self._domain.started(report.job_id, report.at)
            case Ended():
                self._ended(report)
            case _:
                assert_never(report)

    def _freed(self) -> None:
        if self._slots is not None:
            self._slots.freed()

    def _mateless(self, job: batch.Refused | batch.Divided | batch.Gone) -> None:
        """A job starts alone, an array is none by its own id, or they have ended. Who waits for them hears of it."""
        if isinstance(job, batch.Gone):
            self._domain.core.names.mateless.drop(job.job_id)
            return
        if isinstance(job, batch.Refused):
            self._jobs.refused(job.job_id, job.reason)
        problem, tasks = (MateProblem.ARRAY, job.tasks) if isinstance(job, batch.Divided) else (job.problem, None)
        if job.named is None or problem is None:
            return
        named = self._meant(job.named)
        peers = [peer for meant in named.others for peer in meant.split(ANY_OF) if peer in self._coupled.peers]
        of = Mateless(job.owner, peers, named.name, not named.is_pair, problem, tasks)
        id, mateless = job.job_id, self._domain.core.names.mateless
        for peer, member in [*mateless.add(id, of), *(mate for mate in named.ids if mate[0] in peers)]:
            self._tasks.run(self._announcer.tell(peer, TellMember(member, id, 1), lambda: id in mateless))

    def _appeared(self, job: batch.Appeared) -> None:
        if job.named is None:
            return
        named = self._meant(job.named)
        unknown = [peer for peer in named.others if not self._knows(peer)]
        if unknown:
            known = ", ".join(self._coupled.peers) or "none"
            said = f"no domain {unknown[0]}" if unknown[0] else "a pair's name, but there is no other domain"
            reason = f"its {self._system.mate_field} names {said} (configured: {known})"
            _LOG.warning("job %s of %s starts alone: %s", job.job_id, job.owner, reason)
            self._jobs.refused(job.job_id, reason)
            return
        if ANY_OF in named.peer:
            said = wrong_mate(named.peer, None, named.pair, MateProblem.NO_DOMAIN)
            _LOG.warning("job %s of %s waits: %s; no default_peer is configured", job.job_id, job.owner, said)
        record = self._record(job, named)
        self._jobs.submitted(record)
        self._tasks.run(self._announce(record, named))

    def _meant(self, named: Named) -> Named:
        """Return the group, or the mate with the domain that is meant if the job names none."""
        peer = self._coupled.meant(named.peer) or self._coupled.any
        if not named.is_pair:
            return named
        return named_mate(peer, named.pair, named.mate, named.or_alone)._replace(terms=named.terms)

    def _knows(self, peer: Domain) -> bool:
        """Return whether jobs can name this domain; one that names no domain waits until it names one."""
        return bool(peer) and (peer in self._coupled.peers or peer == self._coupled.any)

    async def _announce(self, record: JobRecord, named: Named) -> None:
        if (job := str(record.id)) not in self._domain.jobs:
            return
        if (said := self._wrong_start(named)) is not None:
            self._jobs.wrong_group(job, said)
            return
        refusal = refusal_of(named, await self._announcer.announce(record))
        if refusal is not None and not named.is_pair:
            self._jobs.wrong_group(job, refusal.message)

    def _wrong_start(self, named: Named) -> str | None:
        """Say why the group cannot start as its windows or its instant have it; None if it can."""
        own = self._domain.name
        wrong = wrong_windows({of.domain: (of.earliest, of.latest) for of in named.windows}, (own, *named.others))
        if wrong is not None:
            return f"group {named.name}: {wrong[0]} {wrong[1]}"
        lacks = (named.windows or named.at is not None) and not self._domain.core.settings.slots
        return wrong_member(own, named.name, MateProblem.NO_SLOTS) if lacks else None

    def _record(self, job: batch.Appeared, named: Named) -> JobRecord:
        clock = self._domain.clock
        return JobRecord(
            id=int(job.job_id),
            name="".join(character if character.isprintable() else "?" for character in job.name),
            owner=job.owner,
            uid=None,
            nodes=job.nodes,
            time_limit=job.time_limit,
            account=job.account,
            columns=_columns(job.queue),
            submitted_at=min(clock.from_wall(job.submitted_at), clock.now()),
            job=PairedJob(job.job_id, job.owner, Membership.named(self._domain.name, named)),
            reason=story.WAITS_IN_QUEUE,
        )

    def _relinked(self, report: batch.Relinked) -> None:
        named = self._meant(report.named) if report.named is not None else None
        known = named is not None and all(map(self._knows, named.others))
        self._tasks.run(self._follow_link(report.job_id, named if known else None))

    async def _follow_link(self, job: JobId, named: Named | None) -> None:
        while self._domain.turns.problem or mate_may_start(self._domain, job):  # stalled: it would happen later
            await asyncio.sleep(LOOK)
        self._jobs.relinked(job, named)
        if (record := self._domain.jobs.get(job)) is not None and record.mates:
            await self._announcer.announce(record)

    def _ended(self, report: Ended) -> None:
        if report.started_at is not None:
            self._domain.started(report.job_id, report.started_at)
        tell_end(self._domain, report)

    # After a restart

    async def take_up(self, found: Mapping[str, batch.Known], running: Collection[JobId]) -> None:  # noqa: ARG002
        """See Work.

        Jobs that wait for their mates by our record keep waiting if they have nodes, whenever they are offered again.
        Jobs that run by our record continue when they are offered. What has changed is known before others have a turn:
        what happens from then on comes after it.
        """
        lost = [job for job in self._domain.jobs if job not in found]
        changes: list[Callable[[], None]]
        changes = [partial(self._domain.end, job, JobState.FAILED, UNKNOWN_THERE) for job in lost]
        changes += [tell for known in found.values() for tell in self._found(known)]
        slices = Slices()  # there may be thousands
        for tell in changes:
            tell()
            await slices.pause()
        self._requeues.resume(lambda record: record.preempted_at is not None)
        if self._slots is not None:
            self._slots.take_up()
        else:
            self._tasks.run(self._take_slots_away())

    async def _take_slots_away(self) -> None:
        """An earlier service may have met: nobody would start its jobs at their slots."""
        try:
            await self._system.take_up_slots({})
        except ManagerError as error:
            _LOG.warning("slots of an earlier service are not taken away: %s", error)

    def _is_meant_now(self, known: batch.Known) -> bool:
        """Return whether another domain is meant than before by a job that does not name its mate's."""
        if known.named is None:
            return False
        before = self._domain.jobs[known.job_id].named.peer
        return ANY_OF in before and self._meant(known.named).peer != before

    def _found(self, known: batch.Known) -> Iterator[Callable[[], None]]:
        """Yield what to tell about a job that the manager knows."""
        job = known.job_id
        if known.end is not None:
            yield partial(self._ended, known.end)
            return
        is_new = job not in self._domain.jobs
        if is_new:
            yield partial(self._appeared, known)
        elif self._is_meant_now(known):
            yield partial(self._relinked, batch.Relinked(job, known.named))
        if known.running:
            yield partial(self._domain.started, job, known.began)
            yield partial(self._jobs.resized, job, known.nodes)
        elif not is_new and self._lost_its_nodes(known):
            yield partial(self._jobs.withdrawn, job)

    def _lost_its_nodes(self, known: batch.Known) -> bool:
        """Return whether a job that waits there has nodes by our record. It may be offered again already."""
        state, record = self._domain.state(known.job_id), self._domain.jobs[known.job_id]
        if state is JobState.RUNNING:
            return record.preempted_at is not None  # else it was to start
        return not known.offered and state in (JobState.READY, JobState.HOLDING)


def _columns(queue: str) -> str | None:
    return json.dumps({QUEUE: queue}) if queue else None
