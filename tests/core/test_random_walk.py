"""One domain under long random histories of legal, illegal, late and hostile events."""

import copy
import random
from collections import Counter
from decimal import Decimal

import pytest

from cosched.core.allocation import Allocation
from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.coscheduling.ledger import IllegalEvent
from cosched.core.effects import Effect, Start, Try
from cosched.core.events import (
    Answered,
    Asked,
    CallFailed,
    Drained,
    Event,
    Finished,
    GraceOver,
    NodesLost,
    PatienceOver,
    PeerAway,
    PeerDrains,
    PeerLeaves,
    PeerThere,
    Ready,
    ReleaseDue,
    Requeued,
    Resumed,
    RetryDue,
    StartedUnasked,
    Submitted,
    Tried,
)
from cosched.core.job import JobState, may_become
from cosched.core.protocol import (
    FOREVER,
    Failure,
    Found,
    GetMateJobId,
    GetMateStatus,
    MateJobId,
    MateStarted,
    MateStatus,
    MateTried,
    Request,
    StartJob,
    Status,
    TryStartMate,
    named_mate,
)
from cosched.core.settings import CoschedulingSettings, OnUnreachable, Scheme
from tests.core.had import had
from tests.tiers import SEED, soaked

from .driver import parts

NODES, STEPS = 10, 150
JOBS = "uvwxyz"


class Walk:
    """A history of one domain, drawn from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.core = Coscheduler("A", NODES, self.settings())
        self.now = 0
        self.starts: Counter[str] = Counter()
        self.transitions: set[tuple[JobState, JobState]] = set()

    def settings(self) -> CoschedulingSettings:
        pick = self.random.choice
        return CoschedulingSettings(
            scheme=pick(list(Scheme)),
            release_interval=pick([0, 5, 50]),
            max_held_fraction=pick([Decimal("0.3"), Decimal("0.5"), Decimal(1)]),
            max_yields=pick([0, 2]),
            on_peer_unreachable=pick(list(OnUnreachable)),
            mate_patience=pick([None, 20]),
            peer_patience=pick([0, 10]),
            peer_grace=pick([0, 15]),
        )

    # One step

    def step(self) -> None:
        self.now += self.random.randrange(3)
        event = self.event()
        before = {job.id: copy.copy(job) for job in self.core.jobs.values()}
        legal = self.is_legal(event)
        saved = None if legal else copy.deepcopy(parts(self.core))
        try:
            effects = self.core.handle(event, self.now)
        except (IllegalEvent, ValueError):
            assert not legal, event
            assert parts(self.core) == saved
            return
        assert legal, event
        self.count_starts(event, before)
        if type(event) is Ready:  # which may hold at once, if its peer is away
            self.transitions.add((before[event.job].state, JobState.READY))
            before[event.job].state = JobState.READY
        self.look_at(before, effects)
        self.answer_tries(effects)

    def count_starts(self, event: Event, before: dict[str, object]) -> None:
        """Those that are no effects."""
        if type(event) is Requeued:
            self.starts[event.job] = 0
        elif type(event) is StartedUnasked:
            self.starts[event.job] += before[event.job].state in WAITING
        elif type(event) is Tried and event.allocation is not None:
            self.starts[event.job] += before[event.job].state is JobState.QUEUED

    def answer_tries(self, effects: list[Effect]) -> None:
        """As a shell does, before anything else happens; or, if its resource manager schedules, some time later."""
        for effect in effects:
            if type(effect) is Try and self.random.random() < 0.7:
                before = {effect.job: copy.copy(self.core.jobs[effect.job])}
                started = self.random.random() < 0.5
                self.starts[effect.job] += started
                self.look_at(before, self.core.handle(Tried(effect.job, had(started)), self.now))

    def look_at(self, before: dict[str, object], effects: list[Effect]) -> None:
        jobs = self.core.jobs
        for name, old in before.items():
            new = jobs[name]
            if old.state is not new.state:
                assert may_become(old.state, new.state)
                self.transitions.add((old.state, new.state))
            assert new.generation >= old.generation
            assert new.call is None or new.state in (JobState.READY, JobState.HOLDING) or new.in_doubt  # made void then
        self.starts.update(effect.job for effect in effects if type(effect) is Start)
        assert max(self.starts.values(), default=0) <= 1
        held = sum(job.nodes for job in jobs.values() if job.state is JobState.HOLDING)
        assert self.core.ledger.held_nodes == held <= NODES

    def is_legal(self, event: Event) -> bool:
        if type(event) is Asked or type(event) in PEERS:
            return True
        job = self.core.jobs.get(event.job)
        if type(event) is Submitted:
            return job is None
        if job is None or (type(event) is Tried and job.id not in self.core.incoming.trying):
            return False
        if type(event) is Answered:
            return True  # stale, or in the table: every answer may come in every state
        if type(event) is Finished and not (event.how.final and may_become(job.state, event.how)):
            return False
        return (job.state, type(event)) in self.core.table

    # What may happen

    def event(self) -> Event:
        pick = self.random.choice
        job = pick(JOBS)
        kind = pick([Submitted, Ready, Ready, Answered, Answered, Answered, Answered, CallFailed, Asked, Asked, *RARE])
        if kind is Submitted:
            return Submitted(job, named_mate("B", job))
        if kind is Ready:
            return Ready(job, Allocation(pick([1, 3, 5])), pick([FOREVER, self.now + 20]))
        if kind is Answered:
            request = self.request_of(job)
            return Answered(job, request, self.answer(request))
        if kind is CallFailed:
            return CallFailed(job, self.request_of(job), pick(list(Failure)))
        if kind is Asked:
            return Asked(pick("BBBBC"), self.question(job))
        if kind in PEERS:
            return self.peer_event(pick(PEERS))
        if kind is Finished:
            return Finished(job, pick([*JobState][-3:] * 2 + [JobState.RUNNING]))
        return kind(job, True) if kind is Tried else kind(job)

    def peer_event(self, kind: type) -> Event:
        if kind is Resumed:
            return Resumed()
        if kind is Drained:
            return Drained(self.now + 10)
        if kind in (PeerDrains, PeerLeaves):
            return kind("B", self.random.choice([0, self.now + 10]))
        return kind("B")

    def request_of(self, job: str) -> Request:
        """The question that the job asks at present, or an old one."""
        known = self.core.jobs.get(job)
        asked = [] if known is None or known.group is None else [known.call, *known.group.asked.values()]
        open_ = [request for request in asked if request is not None]
        return open_[0] if open_ and self.random.random() >= 0.2 else GetMateStatus("old", job)

    def answer(self, request: Request) -> object:
        pick = self.random.choice
        if type(request) is GetMateJobId:
            found = pick([Found.MATE, Found.MATE, Found.MATE, Found.UNSUBMITTED, Found.NO_PAIR])
            return MateJobId(found, "k" if found is Found.MATE else None)
        if type(request) is GetMateStatus:
            return MateStatus(pick(list(Status)), pick([0, 1, 2]), self.now)
        return (MateTried if type(request) is TryStartMate else MateStarted)(pick([True, False, False]))

    def question(self, job: str) -> Request:
        pick = self.random.choice
        caller, number = pick(["k", "k", "k", "intruder"]), self.random.randrange(8)
        return pick(
            [
                GetMateJobId(caller, job, None, ""),
                GetMateStatus(job, caller),
                TryStartMate(f"B/{caller}/{number}", job, caller, self.now + 9),
                StartJob(f"B/{caller}/{number}", job, caller, pick([0, 1, 2])),
            ]
        )


QUICK = (*range(25), 72, 121, 123, 139, 366)  # the last ones make the rarest transitions
RARE = [ReleaseDue, PatienceOver, RetryDue, NodesLost, Finished, Finished, Tried, StartedUnasked, Requeued, PeerThere]
PEERS = [PeerThere, PeerAway, PeerLeaves, PeerDrains, GraceOver, Drained, Resumed, Resumed]
WAITING = (JobState.QUEUED, JobState.READY, JobState.HOLDING)


def walked(seed: int) -> Walk:
    """A history of STEPS steps; an AssertionError names the seed."""
    walk = Walk(seed)
    try:
        for _ in range(STEPS):
            walk.step()
    except AssertionError as error:
        raise AssertionError(f"seed {seed}") from error
    return walk


@pytest.mark.parametrize("seeds", soaked([QUICK, range(SEED * 10_000, SEED * 10_000 + 9_000)], 1))
def test_random_histories_make_every_transition_and_no_other(seeds):
    """No job starts twice; held nodes are what holding jobs hold; illegal events change nothing."""
    made = set().union(*(walked(seed).transitions for seed in seeds))
    alive = (JobState.QUEUED, JobState.READY, JobState.HOLDING, JobState.RUNNING)
    assert made == {(old, new) for old in alive for new in JobState if may_become(old, new)}
