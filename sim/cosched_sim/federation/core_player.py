"""Plays one policy domain in this process: the core with any scheduler that is open to the future.

What happens to jobs without mates is told as that in the compiled world: when, but not why.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import assert_never, cast

from cosched.core.allocation import Allocation, Gathered, SizeChanged
from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.coscheduling.following import STATES
from cosched.core.domain import Change
from cosched.core.effects import Answer, Call, CancelJob, EndRun, Record, Start, Wanted
from cosched.core.events import Answered, Asked, Event, Finished, Linked, Ready, Requeued, Submitted, Unlinked
from cosched.core.job import WAITING, JobState
from cosched.core.protocol import NO_MATE, Domain, EndedBy, JobId, Named, Reply, TellMember
from cosched.core.scheduling.batch.kernels.answers import HAS_NODES, NO_ROOM, chance
from cosched.core.scheduling.batch.open_cluster import OpenCluster
from cosched.core.scheduling.primitives.compiled import direct
from cosched.core.scheduling.primitives.tables import NEVER
from cosched.core.scheduling.scheduler import ClusterJob, OpenScheduler
from cosched.core.settings import CoschedulingSettings
from cosched.core.story import What
from cosched_adapters.launcher import TraceJob
from cosched_sim.batch_domain import ENDS
from cosched_sim.federation.mates_only import MatesOnly
from cosched_sim.federation.player import Advanced, JobOutcome, Phase, Results, in_columns
from cosched_sim.holds_and_yields import END_OF_HOLD, HoldLog, YieldLog
from cosched_sim.link import Link, Untold
from cosched_sim.questions import Questions
from cosched_sim.telling import RESIZED, Starts, Story, told_of_call
from cosched_sim.what_if import WhatIf
from cosched_sim.workload.allocations import Runs
from cosched_sim.workload.jobs import UNKNOWN


class CorePlayer:
    """The player (see `Player`) of the domain `name`, whose jobs come from a trace; a job's id is its name there."""

    def __init__(
        self,
        name: Domain,
        coscheduling: CoschedulingSettings,
        scheduler: OpenScheduler,
        jobs: Sequence[TraceJob],
        link: Link,
        story: Story | None = None,
        script: WhatIf | None = None,
        off: Collection[Domain] = (),
        skips: Mapping[int, Sequence[tuple[Domain, int]]] = MappingProxyType({}),
    ) -> None:
        """`off`: other domains that do not coschedule. `skips`: with whom jobs start that may do without questions."""
        self.domains = (name,)
        self.holds, self.yields = HoldLog(), YieldLog()
        self._name = name
        self._story = story
        self._core = Coscheduler(name, scheduler.nodes, coscheduling)
        self.scheduler = scheduler
        self._policy = MatesOnly(self._core, scheduler, self._asks_in_vain)
        self._questions = Questions(skips, link.chance)
        self._jobs, self._off = jobs, frozenset(off)
        self._row = {job.name: job.number - 1 for job in jobs}
        self._submitted = 0
        self._next_submission = jobs[0].submit if jobs else NEVER
        self._script = script or WhatIf()
        self._tells_all = story is not None or self._script.next() < NEVER  # the rules hear of jobs without mates, too
        self._places: dict[JobId, Named] = {}  # those with which jobs start that have the places of others
        self._runs = Runs()
        self._elastic = scheduler.capabilities.allocates  # or some job was resized, or queued again
        self._starts = Starts()
        self._started: dict[JobId, int] = {}  # when first
        self._restarts: dict[int, int] = {}  # when last, by row, of jobs that were queued again, but not by preemption
        self._ended: dict[JobId, int] = {}  # when
        self._timers = self._policy.timers
        self._releases = 0
        self._link, self._chance = link, direct(chance)
        link.join(name, self)
        self._now = 0
        self._timers_fired = False
        self._reply: Reply | None = None
        self._phases: dict[Phase, Callable[[], None]] = {
            Phase.COMPLETIONS: self._complete,
            Phase.SCRIPT: self._fire_script,
            Phase.TIMERS: partial(self._fire_timers, of_slots=False),
            Phase.SLOTS: partial(self._fire_timers, of_slots=True),
            Phase.SUBMISSIONS: self._submit,
            Phase.ITERATIONS: self._iterate,
        }

    @property
    def next(self) -> int | None:
        return at if (at := self._next()) < NEVER else None

    def _next(self) -> int:
        own = self.scheduler.next_event(self._now)
        at = min(self._runs.next_end, int(self._timers.next()), self._next_submission, self._script.next())
        return at if own is None or own > at else own

    def has_timer(self, now: int) -> bool:
        return now in (self._timers.next(), self._script.next())

    @property
    def has_submissions(self) -> bool:
        return self._next_submission < NEVER

    @property
    def has_jobs(self) -> bool:
        return self.has_submissions or self._runs.next_end < NEVER or self._script.next() < NEVER

    def go_on(self, now: int, until: int) -> Advanced:
        self._timers_fired, link = False, self._link
        while True:
            self._enter(now)
            self._complete()
            if self.has_timer(now):
                self._fire_script()
                self._fire_timers(of_slots=False)
                self._fire_timers(of_slots=True)
            self._submit()
            self._deliver()
            if link.changed:
                return Advanced(now, link.take_changed(), None, self._timers_fired)
            self._iterate()
            if link.changed or not self.has_submissions or (after := self._next()) >= until:
                return Advanced(now, link.take_changed(), self._name, self._timers_fired)
            now = after

    def iterate(self, domain: Domain, now: int) -> Sequence[Domain]:  # noqa: ARG002
        return self.advance(now, (Phase.ITERATIONS,))

    def advance(self, now: int, phases: Sequence[Phase]) -> Sequence[Domain]:
        self._enter(now)
        for phase in phases:
            self._phases[phase]()
        return self._link.take_changed()

    def _enter(self, now: int) -> None:
        self._now = now
        self.scheduler.enter(now)

    def _complete(self) -> None:
        while (row := self._runs.complete(self._now)) is not None:
            job = self._jobs[row].name
            self._ended[job] = self._now
            self.scheduler.learn(job, self._now - self._policy.began(job))
            self.scheduler.leave(job, self._now, JobState.COMPLETED)
            if job in self._core.jobs:
                self._feed(Finished(job, JobState.COMPLETED))

    def _fire_script(self) -> None:
        if self._script.next() == self._now:
            self._timers_fired = True
            self._script.fire(self, self._now)

    def _fire_timers(self, *, of_slots: bool) -> None:
        while (due := self._timers.take(self._now, of_slots=of_slots)) is not None:
            self._timers_fired = True
            self._feed(due[1])

    def _submit(self) -> None:
        while self._next_submission == self._now:
            job = self._jobs[self._submitted]
            self._submitted += 1
            self._next_submission = self._jobs[self._submitted].submit if self._submitted < len(self._jobs) else NEVER
            if job.name in self._core.jobs:
                continue  # cancelled before it was submitted
            changes: list[Change] = []
            if job.named is not None or self._tells_all:
                changes = self._policy.handle(Submitted(job.name, self._names(job)), self._now)
            self.scheduler.submit(self._known(job))
            self._do_all(changes)

    def _known(self, job: TraceJob) -> ClusterJob:
        paired = job.name in self._core.jobs and self._policy.is_paired(job.name)
        paired = paired and not self._off.issuperset(self._names(job).others)
        return ClusterJob(job.name, job.nodes, job.requested, job.submit, paired, columns=job.columns)

    def _iterate(self) -> None:
        """Iterate until the scheduler is done. Answers that it waits for come at once."""
        while changes := self._policy.schedule(self._now):
            self._do_all(changes)
            self._deliver()

    def _asks_in_vain(self, job: JobId) -> bool:
        """Return whether a ready job need not ask; it yields."""
        row = self._row[job]
        if row not in self._questions.others or not self._questions.in_vain(row):
            return False
        self.yields.note(row, self._now)
        return True

    def chance(self, domain: Domain, job: int) -> int:  # noqa: ARG002
        known, rows = self._core.jobs.get(self._jobs[job].name), cast(OpenCluster, self.scheduler).rows
        if known is None:
            return NO_ROOM
        return self._chance(rows.tables, 0, rows.row[known.id]) if known.id in rows.row else HAS_NODES

    def answer(self, domain: Domain, asked: Asked, now: int) -> Reply:  # noqa: ARG002
        if (known := self._core.incoming.known(asked.peer, asked.request)) is not None:
            return known
        self._enter(now)
        outer, self._reply = self._reply, None  # this domain may be about to answer another one
        self._feed(asked)
        reply, self._reply = self._reply, outer
        assert reply is not None
        return reply

    def _deliver(self) -> None:
        if self._link.untold:
            self._link.deliver(self._now, self.domains)

    def hear(self, domain: Domain, told: Untold, now: int) -> None:
        self._enter(now)
        match told:
            case Asked() | Answered():
                self._feed(told)
            case CancelJob():
                self.cancel(domain, self._row[told.job], EndedBy.MATE)
            case EndRun(again=True):
                self.requeue(domain, self._row[told.job])
            case EndRun():
                self.end_run(domain, self._row[told.job], STATES[told.why])
            case _:
                assert_never(told)

    # What a script does to jobs, see `what_if.Stage`

    def cancel(self, name: Domain, job: int, by: EndedBy = EndedBy.OWNER) -> bool:  # noqa: ARG002
        known = self._jobs[job]
        if known.name not in self._core.jobs:
            self._do_all(self._policy.handle(Submitted(known.name, self._names(known)), self._now))
        if self._core.jobs[known.name].state.final:
            return False
        self._end(known, JobState.CANCELLED, by)
        return True

    def end_run(self, name: Domain, job: int, how: JobState) -> bool:  # noqa: ARG002
        if not self._runs_now(job):
            return False
        self._end(self._jobs[job], how)
        return True

    def _end(self, job: TraceJob, how: JobState, by: EndedBy = EndedBy.OWNER) -> None:
        self._ended[job.name] = self._now
        self._runs.stop(job.number - 1, self._now, ENDS[how])
        if job.name in self.scheduler:
            self.scheduler.leave(job.name, self._now, how)
        else:
            self.scheduler.reschedule()  # as the compiled world does
        self._feed(Finished(job.name, how, by))

    def requeue(self, name: Domain, job: int) -> bool:  # noqa: ARG002
        if not self._runs_now(job):
            return False
        known = self._jobs[job]
        self._elastic = True
        self._restarts.setdefault(job, self._started[known.name])
        self._runs.requeue(job, self._now, keeps_work=False)
        self.scheduler.leave(known.name, self._now, JobState.CANCELLED)
        self.scheduler.submit(self._known(known))
        self._feed(Requeued(known.name))
        return True

    def unlink(self, name: Domain, job: int) -> bool:  # noqa: ARG002
        known = self._core.jobs.get(self._jobs[job].name)
        if known is None or known.state not in WAITING or known.group is None:
            return False
        self._feed(Unlinked(known.id))
        return True

    def replace(self, name: Domain, job: int, new: int) -> bool:
        old, other = self._jobs[job], self._jobs[new]
        before, known = self._core.jobs.get(old.name), self._core.jobs.get(other.name)
        if (before is not None and before.runs) or (known is not None and known.state not in WAITING):
            return False
        self.cancel(name, job)
        named = self._places[other.name] = self._names(old)
        if known is not None:
            self._feed(Linked(other.name, named))
        return True

    def _runs_now(self, job: int) -> bool:
        known = self._core.jobs.get(self._jobs[job].name)
        return known is not None and known.state is JobState.RUNNING

    def _names(self, job: TraceJob) -> Named:
        return self._places.get(job.name) or job.named or NO_MATE

    def _feed(self, event: Event) -> None:
        self._do_all(self._policy.handle(event, self._now))

    def _do_all(self, changes: Iterable[Change]) -> None:
        for change in changes:
            self._do(change)

    def _do(self, change: Change) -> None:
        match change:
            case Call():
                self._call(change)
            case Answer():
                self._answer(change)
            case CancelJob() | EndRun():
                self._link.tell(self._name, change)
            case Start():
                self._start(change)
            case SizeChanged():
                self._resize(change)
            case Requeued():
                self._elastic = True
                self._runs.requeue(self._row[change.job], self._now, keeps_work=change.keeps_work)
            case Record():
                self._note(change)
            case Ready() | Wanted() | Gathered():
                pass  # only people are told
            case _:
                assert_never(change)

    def _start(self, start: Start) -> None:
        self._started.setdefault(start.job, self._now)
        if (row := self._row[start.job]) in self._restarts:
            self._restarts[row] = self._now
        assert start.allocation is not None
        self._allocate(start.job, start.allocation)
        if start.job in self._core.jobs:
            self._tell_start(start)

    def _resize(self, resized: SizeChanged) -> None:
        self._elastic = True
        self._allocate(resized.job, resized.allocation)
        gave_to = {} if resized.gave_to is None else {"gave_to": resized.gave_to}
        self._tell(resized.job, RESIZED, {"nodes": resized.allocation.nodes, **gave_to})

    def _allocate(self, id: JobId, allocation: Allocation) -> None:
        job = self._jobs[self._row[id]]
        self._runs.go_on(job.number - 1, job.run, allocation, self._now)

    def _note(self, record: Record) -> None:
        row, what = self._row[record.job], record.what
        self._releases += what is What.RELEASED
        if what is What.HOLDS:
            self.holds.begin(row, self._now)
        elif what in END_OF_HOLD:
            self.holds.end(row, self._now, END_OF_HOLD[what])
        if what is What.YIELDS:
            self.yields.note(row, self._now)
        if what is What.STARTED:
            self._tell_start(record)
        else:
            self._tell(record.job, what, self._detail(record))

    def _tell_start(self, half: Record | Start) -> None:
        if (both := self._starts.both(half)) is None:
            return
        record, start = both
        allocation = start.allocation if self.scheduler.capabilities.other_sizes else None
        nodes = {} if allocation is None else {"nodes": allocation.nodes}
        self._tell(record.job, record.what, {**self._detail(record), **nodes})

    def _detail(self, record: Record) -> dict[str, object]:
        return record.stored() if self._story is not None and self._core.jobs[record.job].peers else {}

    def _tell(self, job: JobId, what: str, detail: dict[str, object]) -> None:
        if self._story is not None:
            self._story(self._now, self._name, job, what, detail)

    def _answer(self, answer: Answer) -> None:
        request = answer.request
        if type(request) is TellMember:
            self._link.tell(answer.peer, Answered(request.caller, request, answer.answer, self._name))
        else:
            self._reply = answer.answer

    def _call(self, call: Call) -> None:
        if type(call.request) is TellMember:
            self._link.tell(call.peer, Asked(self._name, call.request))
            return
        reply = self._link.call(call.peer, Asked(self._name, call.request), self._now)
        if self._story is not None:
            self._tell(call.job, type(call.request).__name__, told_of_call(call, reply))
        self._feed(Answered(call.job, call.request, reply, call.peer))

    def results(self, domain: Domain, now: int) -> Results:  # noqa: ARG002
        jobs = in_columns(self._outcome(job.name) for job in self._jobs[: self._submitted])
        had = self._runs.allocations(now) if self._elastic else None
        if had is not None and not self.scheduler.capabilities.allocates:
            had = had.by_time()  # as the compiled world has it
        holds, yields = self.holds.holds(0, now), self.yields.yields()
        return Results(jobs, self._releases, holds, yields, had, self.scheduler.counts(), self._restarts)

    def _outcome(self, id: JobId) -> JobOutcome:
        start, end = self._started.get(id, UNKNOWN), self._ended.get(id, UNKNOWN)
        if (known := self._core.jobs.get(id)) is not None:
            return JobOutcome.of(known, end)._replace(start=start)
        state = self._policy.state(id) if end == UNKNOWN else JobState.COMPLETED
        return JobOutcome(start, start, end, 0, 0, 0, UNKNOWN, int(state))
