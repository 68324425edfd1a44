"""A domain starts: it takes up what its last life left."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable

from cosched.core.coscheduling.peers import Presence
from cosched.core.events import NodesLost, SlotLapsed
from cosched.core.job import JobState
from cosched.core.kept import from_plain
from cosched.core.protocol import EndedBy, JobId
from cosched.core.scheduling.scheduler import WITH_NODES, ClusterJob
from cosched.service.domain.charges import DAY, HOUR
from cosched.service.domain.decisions import PEERS, SCHEDULER, SLOT_USE
from cosched.service.domain.draining import DRAIN
from cosched.service.domain.live_domain import ASIDE, LiveDomain
from cosched.service.domain.malleable import least_of
from cosched.service.domain.story import Noted
from cosched.service.domain.turns import Outside
from cosched.service.store import AuditRecord, JobRecord
from cosched.words.errors import InputError

LIFE = "life"  # what the store calls the number of times that the domain was started
SKIPPED = 1000  # numbers of calls; more than a job can have used that are not on disk yet


def recover(domain: LiveDomain, outside: Outside, aside: Collection[JobId] = ()) -> list[JobId]:
    """Take up all jobs that have not ended, as the last turn left them; ids of those that ran then.

    From now on turns may be taken, and `outside` does what they decide. StoreError; InputError: a scheduler of another
    kind has given them their nodes, they cannot have them by its present settings, or there is no job to put `aside`.
    The scheduler is told nothing of those.
    """
    store = domain.store
    active = store.active_jobs()
    before = set(json.loads(store.meta(ASIDE) or "[]"))
    domain.aside = _aside(domain, active, before, aside)
    _recall_scheduler(domain, [record for record in active if str(record.id) not in domain.aside])
    domain.turns.outside = outside
    _begin_life(domain)
    script_bytes = store.script_bytes()
    running = [str(record.id) for record in active if record.state is JobState.RUNNING]
    domain.scheduler.starts.recall(store.starts())
    if domain.scheduler.run_times is not None:
        domain.scheduler.run_times.recall(store.runs(), store.stated_times())
    domain.core.ledger.slot_use.until.update(json.loads(store.meta(SLOT_USE) or "{}"))
    domain.records.charges.recall(store.held_by_account(domain.clock.now() // HOUR - DAY))
    with domain.turns.take():
        for peer, kept in json.loads(store.meta(PEERS) or "{}").items():
            domain.decisions.carry_out(domain.core.asking.recover_peer(peer, from_plain(Presence, kept)))
        domain.draining.recover(store.meta(DRAIN))
        for record in active:
            _recover(domain, record, script_bytes.get(record.id, 0))
        for job in sorted(domain.aside - before, key=int):
            _put_aside(domain, domain.jobs[job])
        if domain.aside != before:
            domain.keep_aside()
        for record in store.telling_jobs():
            domain.records.take_up_telling(record)
            domain.decisions.carry_out(domain.core.recover(record.job, 0, domain.clock.now()))
        domain.scheduler.reschedule()
    return running


def _aside(
    domain: LiveDomain, active: Iterable[JobRecord], before: Collection[JobId], more: Collection[JobId]
) -> set[JobId]:
    """Return the jobs that the scheduler is not told of: those of earlier starts that are left, and more."""
    known = {str(record.id) for record in active}
    if unknown := [job for job in more if job not in known]:
        reason = f"--without-job {unknown[0]}: no such job waits or runs here: leave it out"
        raise InputError(f"domain {domain.name}", None, reason)
    return known.intersection((*before, *more))


def _put_aside(domain: LiveDomain, record: JobRecord) -> None:
    """Let the job wait until an operator releases it. If it has nodes it loses them, and if it runs it is ended."""
    job, journal = str(record.id), domain.journal
    journal.note(job, Noted.PUT_ASIDE)
    journal.changes.audits.append(AuditRecord(journal.now, "", "cosched serve", "PutAside", job, "OK", "--without-job"))
    if record.state is JobState.RUNNING:
        domain.records.order_cancellation(record, "cosched serve --without-job")
        return
    if record.state is not JobState.QUEUED:
        domain.decisions.feed(NodesLost(job))
    elif record.slot is not None:
        domain.decisions.feed(SlotLapsed(job))
    record.user_hold = True
    journal.save(record)


def _recall_scheduler(domain: LiveDomain, active: Iterable[JobRecord]) -> None:
    """Give the scheduler what it has kept of the domain; InputError if it cannot take up that kind's jobs."""
    name, kept = json.loads(domain.store.meta(SCHEDULER) or "[null, {}]")
    of_nodes = [record for record in active if record.state in WITH_NODES]
    if name == domain.kind.name:
        domain.scheduler.recall(kept)
        for record in of_nodes:
            _check_nodes(domain, record)
        return
    theirs = [record for record in of_nodes if not domain.scheduler.takes_up(_kept(domain, record))]
    if theirs:
        jobs = f"job {theirs[0].id} has" if len(theirs) == 1 else f"{len(theirs)} jobs, such as {theirs[0].id}, have"
        one = "another scheduler" if name is None else f"the scheduler {name}"
        then = f"drain it, and make it {domain.kind.name} when all have ended"
        raise InputError(f"domain {domain.name}", None, f"{jobs} nodes of {one}: start it with that, {then}")


def _check_nodes(domain: LiveDomain, record: JobRecord) -> None:
    """InputError: the job has nodes, and cannot have them by the present settings of the scheduler."""
    if domain.scheduler.fits(least_of(record)):  # else the machine has become smaller, and the job ends there
        try:
            domain.scheduler.check(_kept(domain, record))
        except ValueError as error:
            reason = f"job {record.id} has nodes, but {error}: undo what was changed until the job has ended"
            raise InputError(f"domain {domain.name}", None, reason) from None


def _kept(domain: LiveDomain, record: JobRecord) -> ClusterJob:
    return domain.known(record).with_kept(record.scheduled)


def _begin_life(domain: LiveDomain) -> None:
    """Use new numbers for calls: a power failure may have undone turns after their calls had left."""
    store = domain.store
    lives = int(store.meta(LIFE) or 0)
    domain.core.ledger.calls_before = SKIPPED * lives
    with store.transaction():
        store.set_meta(LIFE, str(lives + 1))
        store.set_meta(SCHEDULER, domain.decisions.kept_of_domain())
        store.save_site(domain.scheduler.site_tables)
    domain.journal.calls_after = store.commits


def _recover(domain: LiveDomain, record: JobRecord, script_bytes: int) -> None:
    domain.records.take_up(record, script_bytes)
    domain.decisions.carry_out(domain.core.recover(record.job, record.submitted_at, domain.clock.now()))
    if str(record.id) in domain.aside:
        return
    why = _why_never(domain, record) if record.state is JobState.QUEUED else None
    if why is not None:
        domain.end(str(record.id), JobState.CANCELLED, why, by=EndedBy.ITSELF)
    elif record.state is not JobState.QUEUED or not record.user_hold:
        domain.place(record, record.scheduled)


def _why_never(domain: LiveDomain, record: JobRecord) -> str | None:
    """Return why a queued job can never run, as the domain is now; None: it can."""
    if not domain.scheduler.fits(least_of(record)):
        return f"larger than the machine, which has {domain.scheduler.nodes} nodes now"
    try:
        domain.check(record)
    except ValueError as error:
        return str(error)
    return None
