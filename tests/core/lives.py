"""A few domains of 8 nodes, with plain schedulers, on one clock: what happens to pairs and groups over their lives.

Calls are answered at once, unless a domain is down. What is told then is told again when it is back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.domain import PolicyDomain
from cosched.core.effects import Answer, Call, CancelJob, Effect, EndRun, Record, Start
from cosched.core.events import Answered, Asked, CallFailed, Event, Finished, PeerAway, PeerThere, Requeued, Submitted
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, NO_MATE, EndedBy, Failure, Named, Request, TellMember
from cosched.core.scheduling.plain import PlainScheduler
from cosched.core.scheduling.scheduler import ClusterJob
from cosched.core.settings import CoschedulingSettings

NODES = 8
Act = Callable[["Lives"], None]


class Domain:
    """One domain: its core, its scheduler, its timers."""

    def __init__(self, name: str, settings: CoschedulingSettings) -> None:
        self.core = Coscheduler(name, NODES, settings)
        self.scheduler = PlainScheduler(NODES)
        self.policy = PolicyDomain(self.core, self.scheduler)
        self.timers = self.policy.timers
        self.runs: dict[str, int] = {}  # for how long jobs run
        self.ends: dict[str, int] = {}
        self.starts: dict[str, int] = {}
        self.story: list[tuple[int, str, str]] = []
        self.reasons: list[tuple[str, str, str]] = []  # what has happened to which job, and why
        self.calls: list[Request] = []  # that it has made
        self.nodes: dict[str, int] = {}  # of jobs
        self.down = False


class Lives:
    """Domains of these names. Hold, release after 1,200 s, no jitter, the whole machine; slots off (life.md, Cases)."""

    def __init__(self, names: str, **settings: object) -> None:
        quiet = {"release_jitter": Decimal(0), "max_held_fraction": Decimal(1)}
        self.domains = {name: Domain(name, CoschedulingSettings(**{**quiet, **settings})) for name in names}
        self.now = 0
        self.grace = 0  # from the order to end a run to its end
        self._cut: set[frozenset[str]] = set()
        self.slow_news: dict[tuple[str, str], int] = {}  # seconds that they take from one domain to another
        self._plan: list[tuple[int, Act]] = []

    # What happens, by `DOMAIN:ID`

    def at(self, now: int, act: Act) -> None:
        """Have something happen at that instant."""
        self._plan.append((now, act))

    def submit(self, at: int, job: str, nodes: int, run: int, named: Named = NO_MATE) -> None:
        """Submit a job that runs for so many seconds."""
        self.at(at, lambda world: world._submit(*job.split(":"), nodes, run, named))

    def _submit(self, name: str, id: str, nodes: int, run: int, named: Named) -> None:
        domain = self.domains[name]
        domain.runs[id], domain.nodes[id] = run, nodes
        changes = domain.policy.handle(Submitted(id, named, "ann"), self.now)
        domain.scheduler.submit(ClusterJob(id, nodes, run, self.now, paired=named is not NO_MATE))
        self._do(domain, changes)

    def cancel(self, at: int, job: str, by: EndedBy = EndedBy.OWNER, how: JobState = JobState.CANCELLED) -> None:
        """End a job that waits, or runs."""
        self.at(at, lambda world: world.end(*job.split(":"), how, by))

    def tell(self, at: int, name: str, event: Event) -> None:
        self.at(at, lambda world: world._feed(world.domains[name], event))

    def kill(self, at: int, name: str, until: int) -> None:
        """A domain gives no answer for a while, and does nothing. The others notice both."""
        self.at(at, lambda world: world._leave(name, down=True))
        self.at(until, lambda world: world._leave(name, down=False))

    def _leave(self, name: str, *, down: bool) -> None:
        self.domains[name].down = down
        others = [domain for other, domain in self.domains.items() if other != name]
        for other in others:
            self._feed(other, PeerAway(name) if down else PeerThere(name))
            if not down:
                self._feed(self.domains[name], PeerThere(other.core.ledger.domain))

    def cut(self, at: int, one: str, other: str, until: int) -> None:
        """Two domains cannot reach each other for a while, and notice both."""
        self.at(at, lambda world: world._reach(one, other, there=False))
        self.at(until, lambda world: world._reach(one, other, there=True))

    def _reach(self, one: str, other: str, *, there: bool) -> None:
        self._cut ^= {frozenset((one, other))}
        for name, peer in ((one, other), (other, one)):
            self._feed(self.domains[name], PeerThere(peer) if there else PeerAway(peer))

    def requeue(self, at: int, job: str) -> None:
        """The resource manager takes a running job's nodes back; behind others it is queued again."""
        self.at(at, lambda world: world._requeue(*job.split(":")))

    def _requeue(self, name: str, id: str) -> None:
        domain = self.domains[name]
        domain.ends.pop(id, None)
        domain.scheduler.leave(id, self.now, JobState.CANCELLED)
        domain.scheduler.submit(ClusterJob(id, domain.nodes[id], domain.runs[id], self.now, paired=True))
        self._feed(domain, Requeued(id))

    def _end_run(self, name: str, order: EndRun) -> None:
        if self.state(f"{name}:{order.job}") is not JobState.RUNNING:
            return
        if order.again:
            self._requeue(name, order.job)
        else:
            self.end(name, order.job, JobState.CANCELLED)

    def end(self, name: str, id: str, how: JobState, by: EndedBy = EndedBy.OWNER) -> None:
        domain = self.domains[name]
        domain.ends.pop(id, None)
        domain.scheduler.leave(id, self.now, how)
        self._feed(domain, Finished(id, how, by))

    # The clock

    def run(self, until: int = 10_000) -> Lives:
        while (now := self._next()) <= until:
            self.now = now
            self._do_planned()
            while self._step():
                pass
        return self

    def _next(self) -> int:
        up = [domain for domain in self.domains.values() if not domain.down]
        due = [domain.timers.next() for domain in up] + [end for each in up for end in each.ends.values()]
        return max(self.now, min([*due, *(at for at, _ in self._plan)], default=FOREVER))

    def _do_planned(self) -> None:
        for name, domain in self.domains.items():
            for id in [id for id, end in domain.ends.items() if end <= self.now and not domain.down]:
                self.end(name, id, JobState.COMPLETED)
        due = [act for at, act in self._plan if at <= self.now]
        self._plan = [(at, act) for at, act in self._plan if at > self.now]
        for act in due:
            act(self)

    def _step(self) -> bool:
        """Timers first, those of slots last, then iterations; return whether anything has happened."""
        up = [domain for domain in self.domains.values() if not domain.down]
        for domain in up:
            domain.scheduler.enter(self.now)
            if (due := domain.timers.take(self.now, of_slots=False)) is not None:
                self._feed(domain, due[1])
                return True
        for domain in up:
            if changes := domain.policy.schedule(self.now):
                self._do(domain, changes)
                return True
        return False

    # The shell

    def _feed(self, domain: Domain, event: Event) -> None:
        if not domain.down:
            domain.scheduler.enter(self.now)
            self._do(domain, domain.policy.handle(event, self.now))

    def _do(self, domain: Domain, changes: Sequence[Effect]) -> None:
        name = domain.core.ledger.domain
        for change in changes:
            match change:
                case Call():
                    self._call(domain, change)
                case Start():
                    domain.starts[change.job] = self.now
                    domain.ends[change.job] = self.now + domain.runs[change.job]
                case CancelJob():
                    self.end(name, change.job, JobState.CANCELLED, EndedBy.MATE)
                case EndRun():
                    self.at(self.now + self.grace, lambda world, order=change: world._end_run(name, order))
                case Record():
                    domain.story.append((self.now, change.job, str(change.what)))
                    domain.reasons.append((str(change.what), change.job, str(change.why or "")))
                case Answer():
                    request = change.request
                    self._feed(self.domains[change.peer], Answered(request.caller, request, change.answer, name))

    def _call(self, domain: Domain, call: Call) -> None:
        peer, name = self.domains[call.peer], domain.core.ledger.domain
        domain.calls.append(call.request)
        if peer.down or frozenset((name, call.peer)) in self._cut:
            self._feed(domain, CallFailed(call.job, call.request, Failure.UNREACHABLE, call.peer))
        elif type(call.request) is TellMember and (late := self.slow_news.get((name, call.peer))):
            self.at(self.now + late, lambda world: world._deliver(name, call))
        else:
            self._deliver(name, call)

    def _deliver(self, name: str, call: Call) -> None:
        peer = self.domains[call.peer]
        peer.scheduler.enter(self.now)
        changes = peer.policy.handle(Asked(name, call.request), self.now)
        answers = [change for change in changes if type(change) is Answer]
        self._do(peer, [*(change for change in changes if type(change) is not Answer), *answers])

    # What has become of it

    def starts(self) -> dict[str, int]:
        """When jobs started, by `DOMAIN:ID`."""
        return {f"{name}:{id}": at for name, each in self.domains.items() for id, at in each.starts.items()}

    def state(self, job: str) -> JobState:
        name, id = job.split(":")
        return self.domains[name].core.jobs[id].state
