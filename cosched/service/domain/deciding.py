"""The core and its scheduler inside a domain's turns: events in, effects carried out, iterations, the story."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from prometheus_client import Counter

from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.domain import Change, PolicyDomain
from cosched.core.effects import Answer, Call, ClearTimer, Effect, Record, SetTimer, Start, Wanted
from cosched.core.events import Event, Ready
from cosched.core.job import JobState
from cosched.core.protocol import Domain, Found, JobId, MateTried, Reply, StartJob, TryStartMate
from cosched.core.scheduling.scheduler import ClusterSettings, OpenScheduler
from cosched.core.settings import CoschedulingSettings
from cosched.core.story import What, Why
from cosched.service.clock import Clock
from cosched.service.domain import story
from cosched.service.domain.memory import PEERS, remember, remember_peers
from cosched.service.domain.story import Noted
from cosched.service.domain.turns import Outside, Turns
from cosched.service.metrics import Metrics
from cosched.service.store import JobRecord, Store
from cosched.service.wire.translation import FOUND


class DecidingDomain(Turns):
    """A domain that decides: its jobs start, hold and yield.

    `paced`: iterations run between `wake` and `rest` only, at the pace of a conductor (replay in lock-step).
    `of_traces`: the jitter of holds is drawn as in a simulation, by the ids of the trace, which are the jobs' names.
    """

    def __init__(
        self,
        name: Domain,
        coscheduling: CoschedulingSettings,
        cluster: ClusterSettings,
        store: Store,
        clock: Clock,
        outside: Outside,
        metrics: Metrics,
        *,
        owners: Mapping[tuple[Domain, str], str] | None = None,
        paced: bool = False,
        of_traces: bool = False,
    ) -> None:
        super().__init__(store, clock, outside, metrics)
        self.name = name
        known_as = self._name_of if of_traces else str
        self.core = Coscheduler(name, cluster.nodes, coscheduling, owners=owners, known_as=known_as)
        self.cluster = self._make_cluster(cluster)
        self.policy = PolicyDomain(self.core, self.cluster)
        self._paced = paced
        self._iterating = not paced
        self._looks = 0  # since anything has happened
        self._why_yielded: dict[JobId, Why | None] = {}
        self._reply: Reply | None = None

    def _make_cluster(self, settings: ClusterSettings) -> OpenScheduler:
        """Make the embedded scheduler; its import loads the compiler, which no other scheduler needs."""
        from cosched.core.scheduling.batch.open_cluster import OpenCluster

        return OpenCluster(settings)

    def _name_of(self, job: JobId) -> str:
        return self.jobs[job].name

    def _begin(self) -> None:
        self.cluster.enter(self.now)

    def _settle(self) -> None:
        self._schedule()
        self._refresh_touched()

    def feed(self, event: Event) -> None:
        """Tell the policy domain; only in a turn."""
        self._do_all(self.policy.handle(event, self.now))
        if self.core.peers.changed:
            self._note_peers()

    def _note_peers(self) -> None:
        """Something else is known of peers now."""
        for peer in self.core.peers.take_changed():
            what, until = self.presence(peer)
            self.note(None, what, peer=peer, until=until)
        self._changes.values[PEERS] = remember_peers(self.core.peers)

    def presence(self, peer: Domain) -> tuple[Noted, int | None]:
        """What is known of a peer, as a kind of event, and until when that is expected to last."""
        if (until := self.core.peers.grace_end(peer)) is not None:
            return Noted.PEER_AWAY, until
        if self.core.peers.is_draining(peer, self.clock.now()):
            return Noted.PEER_DRAINS, self.core.peers.known[peer].drains_until
        return Noted.PEER_THERE, None

    def carry_out(self, effects: Iterable[Effect]) -> None:
        """Do what follows from a restart; only in a turn."""
        self._do_all(self.policy.follow(effects, self.now))

    def _refresh_touched(self) -> None:
        for job in self.policy.take_changed():
            self.touch(job)
        for job in self._changes.touched:
            record, paired = self.jobs.get(job), self.core.jobs.get(job)
            if record is not None and paired is not None and self._refresh(record, paired):
                self._changes.jobs[record.id] = record
                if record.state.final:
                    self._retire(record)
        self._changes.touched.clear()

    def _retire(self, record: JobRecord) -> None:
        """The job has ended: it is not among `jobs` any more."""
        del self.jobs[str(record.id)]
        self._why_yielded.pop(str(record.id), None)

    def _refresh(self, record: JobRecord, job: PairedJob) -> bool:
        """Bring the record up to date with the core; whether anything differs."""
        place = self.cluster.job(job.id) if job.id in self.cluster else None
        memory = remember(job, place)
        values = (job.state, job.peer or None, job.pair, job.mate, job.ready_at, job.started_at, memory)
        if values == (
            record.state, record.peer, record.pair, record.mate, record.ready_at, record.started_at, record.memory
        ):  # fmt: skip
            return record.id in self._changes.jobs
        held_before = (record.memory or {}).get("held_node_seconds", 0)
        self.metrics.held_node_seconds.inc(memory.get("held_node_seconds", 0) - held_before)
        record.state, record.peer, record.pair, record.mate, record.ready_at, record.started_at, record.memory = values
        return True

    # Scheduling

    def _schedule(self) -> None:
        """Iterate until nothing changes, or an answer is awaited."""
        if not self._iterating:
            return
        if (look_at := self.cluster.next_event(self.now)) is not None:
            self._look_again(look_at)
        with self.metrics.iteration.time():
            self._do_all(self.policy.schedule(self.now))
        awaited = self.cluster.awaited
        if awaited is not None and not self._paced:
            self._outside.awaits(awaited)

    def go_on(self, job: JobId) -> None:
        """The iteration has waited long enough for the answers of `job`, which keeps its nodes; others come next."""
        if self.cluster.awaited == job:
            self._inside(self.cluster.reschedule)

    def _look_again(self, at: int) -> None:
        if not self._paced:
            self._outside.look_again(at, self._looks)

    def look(self) -> None:
        """Run the iteration that `Outside.look_again` was asked for."""
        self._looks += 1
        self.reschedule()

    def reschedule(self) -> None:
        """Run an iteration."""
        self._inside(self.cluster.reschedule)

    def wake(self) -> None:
        """Of a paced domain: iterations run again, at the end of this turn first."""
        self._iterating = True

    def rest(self) -> None:
        """Of a paced domain: no more iterations until `wake`."""
        self._iterating = False

    # What is left to do

    def _do_all(self, changes: Iterable[Change]) -> None:
        """Note what the domain wants done; it is done after the turn."""
        for change in changes:
            _DO[type(change)](self, change)

    def _first_ready(self, ready: Ready) -> None:
        if self.core.jobs[ready.job].peer:
            self.note(ready.job, Noted.READY, nodes=ready.nodes)

    def _start(self, start: Start) -> None:
        self._looks = 0
        self._changes.orders.append(start)

    def _wanted(self, wanted: Wanted) -> None:
        self._set_reason(wanted.job, story.MATE_HOLDS)

    def _call(self, call: Call) -> None:
        self._changes.calls.append(call)

    def _answer(self, answer: Answer) -> None:
        self._reply, request = answer.answer, answer.request
        if not isinstance(request, (TryStartMate, StartJob)):
            return
        self._changes.replies.append(answer)
        last = self.core.incoming.last_answer(answer.peer, request.caller)
        if last is not None and last[0] == request.request_id:
            self._changes.answers[answer.peer, request.caller] = cast(Any, last)
        if self.cluster.awaited is not None and self._refuses(answer.peer, request, answer.answer):
            # That job's nodes may be what is missing. If it gives them back, the iteration goes on behind it, perhaps
            # past this one: two domains that ask each other for different pairs would leave it at that.
            self._look_again(self.now + 1)

    def _refuses(self, peer: Domain, request: TryStartMate | StartJob, answer: Reply) -> bool:
        """Whether a queued job could not be started for its mate."""
        tried = type(answer) is MateTried and not answer.started
        mates = tried and self.core.mates.is_mate(peer, request.caller, request.job)
        return mates and self.core.jobs[request.job].state is JobState.QUEUED

    def _timer(self, timer: SetTimer | ClearTimer) -> None:
        self._changes.timers.append(timer)

    def _record(self, effect: Record) -> None:
        job = effect.job
        record = self.jobs.get(job)
        if story.is_told(effect, self._why_yielded.get(job)):
            ended = {"why": record.end_text} if record is not None and record.end_text else {}
            self.note(job, effect.what, **effect.stored(), **ended)
        if effect.what in COUNTED:
            COUNTED[effect.what](self.metrics).inc()
        if effect.what is What.YIELDS:
            self._why_yielded[job] = effect.why
        if record is not None:
            self._bring_up_to_date(record, effect)

    def _bring_up_to_date(self, record: JobRecord, effect: Record) -> None:
        job, linked = effect.job, effect.what is What.LINKED
        reason = story.reason(effect)
        if linked and self.core.jobs[job].state is JobState.HOLDING:
            reason = Why.MATE_QUEUING
        if reason is not None:
            self._set_reason(job, reason)
        if linked and effect.detail.get("mate") is not None:
            record.lookup = FOUND[Found.MATE]
        if effect.what is What.STARTED:
            self._count_start(record, effect)

    def _set_reason(self, job: JobId, reason: str) -> None:
        record = self.jobs.get(job)
        if record is not None and reason != record.reason:
            record.reason = reason
            self._changes.jobs[record.id] = record

    def _count_start(self, record: JobRecord, effect: Record) -> None:
        paired = bool(self.core.jobs[effect.job].peer)
        together = story.starts_together(effect)
        self.metrics.starts["unpaired" if not paired else "paired" if together else "alone"].inc()
        gap = effect.detail.get("gap_s")
        if gap is not None:
            record.gap_s = gap
            self.metrics.pair_gap.observe(gap)


COUNTED: dict[What, Callable[[Metrics], Counter]] = {
    What.HOLDS: lambda metrics: metrics.holds,
    What.YIELDS: lambda metrics: metrics.yields,
    What.RELEASED: lambda metrics: metrics.releases,
}
_DO: dict[type, Callable[[DecidingDomain, Any], None]] = {
    Record: DecidingDomain._record,
    Ready: DecidingDomain._first_ready,
    Wanted: DecidingDomain._wanted,
    Start: DecidingDomain._start,
    Call: DecidingDomain._call,
    Answer: DecidingDomain._answer,
    SetTimer: DecidingDomain._timer,
    ClearTimer: DecidingDomain._timer,
}
