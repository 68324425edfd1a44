"""One policy domain to be explored: what happens to it, and what it is known by."""

import re
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import NamedTuple

from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.coscheduling.membership import Membership
from cosched.core.domain import Change, PolicyDomain
from cosched.core.effects import Answer, Call, Record, Start, Timer
from cosched.core.events import Answered, Asked, CallFailed, Event, Finished, Submitted
from cosched.core.job import JobState
from cosched.core.protocol import (
    FOREVER,
    NO_MATE,
    Domain,
    Failure,
    GetMateJobId,
    GetMateStatus,
    JobId,
    Named,
    Reply,
    Request,
    StartJob,
    named_mate,
)
from cosched.core.settings import CoschedulingSettings
from cosched.core.story import What, Why
from cosched.core.timers import TIMER_EVENTS
from tests.core.any_order import AnyOrder

from .planner import LocalJob, Machine, Planner

PEER = {"A": "B", "B": "A"}
NODES = 10
START = 10**12  # the first instant; no other number of a domain is as large, so instants can be told by their size
ABOUT_APART = {Why.PEER_UNREACHABLE, Why.MATE_STARTED_BEFORE}  # reasons of starts that say: the mate starts alone
LONG_AGO = 10  # seconds; longer than any patience
LIVES = 1000  # numbers of calls that one life of a domain has


class Outside(StrEnum):
    """What happens to a domain at an instant, besides its timers."""

    SUBMIT = "is submitted"
    END = "ends"
    LOOK = "looks again"  # at its queue, since jobs have yielded; it may do so at any time


class Fault(StrEnum):
    """What may go wrong."""

    LOSE = "lost"
    DOUBLE = "doubled"
    LATE = "late"  # the caller gives up, and the message comes later
    UNREACHABLE = "unreachable"  # the call does not go out
    BUSY = "busy"
    CRASH = "crash"
    POWER = "power failure"  # it takes the record of the last turn back, but not the calls
    UNRECORDED = "crash of a domain that sends before it records"


CRASHES = frozenset({Fault.CRASH, Fault.POWER, Fault.UNRECORDED})
LINK = frozenset({Fault.LOSE, Fault.DOUBLE, Fault.LATE, Fault.UNREACHABLE})


class ExploredJob(NamedTuple):
    """A job of the domain that its name begins with, and of the pair that its number names: a1 is the mate of b1.

    ax and bx have no mates. Times are in seconds, submissions after the first instant.
    """

    name: JobId
    nodes: int
    run: int
    submitted: int = 0
    requested: int = 0  # 0: as long as it runs

    @property
    def domain(self) -> Domain:
        return self.name[0].upper()

    @property
    def mate(self) -> Named:
        return named_mate(PEER[self.domain], f"pair{self.name[1]}") if self.name[1].isdigit() else NO_MATE


@dataclass(frozen=True)
class Scenario:
    """Two domains with their jobs, and how much may go wrong. `slow`: messages may take any time; else none, and
    a call that is lost is given up at once.

    `whole`: whatever goes wrong, pairs start together. Without that they do so if nothing goes wrong.
    """

    settings: dict[Domain, CoschedulingSettings]
    jobs: tuple[ExploredJob, ...]
    faults: int = 0
    kinds: frozenset[Fault] = LINK
    slow: bool = True
    whole: bool = False
    late: int = 1  # seconds by which a timer may be late, at most

    @property
    def pairs(self) -> list[tuple[JobId, JobId]]:
        return [(job.name, "b" + job.name[1]) for job in self.jobs if job.name[0] == "a" and job.name[1].isdigit()]


class Message(NamedTuple):
    """A request under way to `to`, or (with an `answer`) the answer to one that its job `job` has made."""

    to: Domain
    job: JobId  # of the caller
    request: Request
    answer: Reply | None = None


class Step(NamedTuple):
    """What happens to one domain: a message arrives, a call fails, or a timer (of a job) is due."""

    message: Message | None = None
    failure: Failure | None = None
    timer: tuple[str, Timer | Outside] | None = None


# One domain


class LocalDomain:
    """One policy domain with all around it that belongs to it: its machine, its timers, its calls under way."""

    def __init__(self, name: Domain, scenario: Scenario) -> None:
        self.name, self.now, self.lives = name, START, 0
        jobs = [job for job in scenario.jobs if job.domain == name]
        self.to_come = {job.name: job for job in jobs if job.submitted}
        self.runs = {job.name: job.run for job in jobs}
        self.timers: dict[tuple[str, Timer | Outside], int] = {
            (job.name, Outside.SUBMIT): START + job.submitted for job in self.to_come.values()
        }
        self.calls: list[tuple[JobId, Request]] = []  # that have no outcome yet
        self.ends: dict[JobId, int] = {}  # when jobs end that were launched; they go on if the domain is killed
        self.apart: set[JobId] = set()  # jobs whose record says that they have started without their mates
        settings = scenario.settings[name]
        self.machine = Planner(NODES) if settings.slots else Machine(NODES)
        self.core = Coscheduler(name, NODES, settings)
        self.policy = PolicyDomain(self.core, self.machine, timers=AnyOrder(self.timers))
        for job in jobs:
            if not job.submitted:
                self._submit(job)
        self.timers["", Outside.LOOK] = START

    # What happens

    def take(self, step: Step) -> list[Change]:
        """One turn: a step, and the scheduling that follows. What leaves the domain after that, in order."""
        return self._end_turn(self._change(step))

    def _end_turn(self, changes: list[Change]) -> list[Change]:
        changes += self.policy.schedule(self.now)
        self.core.ledger.changed.clear()
        left = [change for change in changes if self._leaves(change)]
        self._look_later()
        self._check()
        return left

    def _change(self, step: Step) -> list[Change]:
        if step.timer is not None:
            del self.timers[step.timer]
            return self._due(*step.timer)
        assert step.message is not None
        _, job, request, answer = step.message
        if step.failure is not None:
            self.calls.remove((job, request))
            return self._tell(CallFailed(job, self._own(job, request), step.failure))
        if answer is None:
            return self._asked(request)
        if (job, request) in self.calls:
            self.calls.remove((job, request))
        elif type(request) in (GetMateJobId, GetMateStatus):
            return []
        return self._tell(Answered(job, self._own(job, request), answer))

    def _own(self, job: JobId, request: Request) -> Request:
        """Return the job's own question that equals this one: a message under way is not pickled with its domain."""
        found = self.core.jobs.get(job)
        asked = found.group.asked.get(PEER[self.name]) if found is not None and found.group is not None else None
        return asked if asked == request else request

    def _asked(self, request: Request) -> list[Change]:
        jobs = self.core.jobs.values()  # one that is just ready counts as holding
        holds = {job.id: job.generation + (job.state is JobState.READY) for job in jobs if job.state in WITH_NODES}
        changes = self._tell(Asked(PEER[self.name], request))
        starts = any(type(change) is Start and change.job == request.job for change in changes)
        if type(request) is StartJob and starts:
            assert holds[request.job] == request.generation, "started by a hold that has ended"
        return changes

    def _tell(self, event: Event) -> list[Change]:
        return self.policy.handle(event, self.now)

    def _due(self, job: str, timer: Timer | Outside) -> list[Change]:
        if isinstance(timer, Timer):
            return self._tell(TIMER_EVENTS[timer](job))
        if timer is Outside.SUBMIT:
            return self._submit(self.to_come.pop(job))
        if timer is Outside.LOOK:
            return []
        self.machine.leave(self.machine.jobs[job], JobState.COMPLETED)
        return self._tell(Finished(job, JobState.COMPLETED))

    def _submit(self, job: ExploredJob) -> list[Change]:
        requested = job.requested or job.run
        self.machine.jobs[job.name] = LocalJob(job.name, job.mate.peer, job.nodes, job.run, requested=requested)
        return self._tell(Submitted(job.name, job.mate))

    def _leaves(self, change: Change) -> bool:
        """Do what stays in the domain."""
        if type(change) is Call:
            self.calls.append((change.job, change.request))
        elif type(change) is Start:
            self._launch(change.job)
        elif type(change) is Record and change.what is What.STARTED and change.why in ABOUT_APART:
            self.apart.add(change.job)
        return type(change) in (Call, Answer, Start)

    def _launch(self, job: JobId) -> None:
        assert job not in self.ends, f"{job} is launched twice"
        self.ends[job] = self.timers[job, Outside.END] = self.now + self.runs[job]

    def _look_later(self) -> None:
        queued = [job for job in self.machine.jobs.values() if job.state is JobState.QUEUED]
        if not queued:
            self.timers.pop(("", Outside.LOOK), None)
        if any(self.now in (job.passed_over, job.released) for job in queued):
            self.timers.setdefault(("", Outside.LOOK), self.now + 1)

    def _check(self) -> None:
        """What must always hold of one domain."""
        jobs = self.machine.jobs.values()
        with_nodes = [job for job in jobs if job.state in (JobState.READY, JobState.HOLDING, JobState.RUNNING)]
        assert self.machine.free == NODES - sum(job.nodes for job in with_nodes) >= 0, "nodes beyond the machine"
        held = sum(job.nodes for job in jobs if job.state is JobState.HOLDING)
        assert held == self.core.ledger.held_nodes <= self.core.ledger.cap, "held nodes"
        for job in jobs:
            paired = self.core.jobs[job.name]
            assert paired.state is job.state, f"{job.name}: {paired.state.name}, by its scheduler {job.state.name}"
            assert paired.slot == job.slot, f"{job.name} has the slots {paired.slot} and {job.slot}"

    # Death and life

    def start_again(self, unlaunched: list[JobId]) -> list[Change]:
        """The domain was killed, and starts again from what is on record; `unlaunched`: its last turn's launches."""
        for job in unlaunched:
            del self.ends[job]
        self.calls, self.lives = [], self.lives + 1
        self.timers = {key: at for key, at in self.timers.items() if key[1] is Outside.SUBMIT}
        old, machine = self.core, self.machine
        self.core = Coscheduler(self.name, NODES, old.settings)
        self.core.ledger.calls_before = LIVES * self.lives
        self.core.answers.last.update(old.answers.last)
        self.machine = type(machine)(NODES)
        self.machine.jobs, self.machine.free = machine.jobs, machine.free
        self.policy = PolicyDomain(self.core, self.machine, timers=AnyOrder(self.timers))
        return self._end_turn([change for job in list(old.jobs.values()) for change in self._take_up(job)])

    def _take_up(self, job: PairedJob) -> list[Change]:
        changes = self.policy.follow(self.core.recover(job, self.now, self.now), self.now)
        if job.state is JobState.READY:
            self.machine.ask_again(job.id)  # a scheduler is told of the job only now, as it is
        if job.state is JobState.RUNNING and job.id in self.ends:
            self.timers[job.id, Outside.END] = self.ends[job.id]
        elif job.state is JobState.RUNNING:
            changes.insert(0, Start(job.id))
        return changes

    # What it is known by

    def text(self) -> str:
        """All that it knows, with instants relative to the present one: equal for two that go on equally."""
        parts = [part for part in vars(self.core).values() if is_dataclass(part)]
        known = [_own(part) for part in parts if type(part) is not PairedJob]
        jobs = [self._text_of(job) for job in self.core.jobs.values()]
        places = [self._text_of(job) for job in self.machine.jobs.values()]
        turn = getattr(self.machine, "turn", None)
        here = sorted(self.to_come), sorted(self.timers.items()), sorted(map(repr, self.calls))
        apart = sorted(self.apart)
        text = repr((known, jobs, places, turn, here, apart, sorted(self.ends)))
        return INSTANT.sub(self._relative, text)

    def numbers(self) -> list[object]:
        """The last call and the last hold of each job."""
        return [self.core.ledger.calls_before, *((job.calls, job.generation) for job in self.core.jobs.values())]

    def _text_of(self, job: PairedJob | LocalJob) -> list[object]:
        """What matters for how a job goes on, in its present state."""
        told: list[object] = [job.state]
        for name in _names(type(job), job.state):
            value = getattr(job, name)
            if name == "group":
                value = _of_group(value, job.state)
            if name in PAST and value is not None:  # it only matters whether it is now, or later
                value = value if value >= self.now else -1
            told.append(value)
        if getattr(job, "call", None) is not None:
            told.append(job.call_since)
        return told

    def _relative(self, number: re.Match[str]) -> str:
        instant = int(number[0])
        return "never" if instant == FOREVER else f"{max(instant - self.now, -LONG_AGO):+d}"


def _of_group(group: Membership | None, state: JobState) -> object:
    """What matters of those with which a job starts."""
    if group is None or state.final:
        return None
    if state is JobState.RUNNING:
        return group.jobs
    void = [f"{peer}/{group.jobs.get(peer)}/{number}" for peer, number in group.void.items() if number]
    unanswered = group.unanswered if group.promise is not None else None
    asks = group.asked, group.again, group.proposal, group.agreement
    return group.jobs, asks, group.promise, group.kept_until, group.slot, group.keeping, void, unanswered


INSTANT = re.compile(r"\b\d{12,}\b")
WITH_NODES = (JobState.READY, JobState.HOLDING)
PAST = {"yielded_at", "passed_over", "released", "wanted_until", "early_at"}
NEVER = {  # what was given, what is only counted, and what is looked at in another way
    *("id", "name", "owner", "allocation", "nodes", "run", "requested", "started", "started_at", "start_at"),
    *("held_since", "yields", "holds", "held_node_seconds", "calls", "generation", "call_since", "state", "ends"),
}
OF_RUN_JOB = {"disclosed", "hold_limit", "held_until", "hold_ends", "cannot_yield", "will_hold", "uncertain"}
WHILE_WAITING = OF_RUN_JOB | {
    *("yielded_at", "ready_at", "missed", "alone", "problem", "call", "parted", "slot", "slot_generation"),
    *("proposes", "confirmed", "passed_over", "released", "wanted_until", "early_at"),
}


@cache
def _names(kind: type, state: JobState) -> list[str]:
    """The fields that matter in this state; the others are set anew before they matter again."""
    unless = {JobState.QUEUED: OF_RUN_JOB | {"expected"}, JobState.RUNNING: WHILE_WAITING}
    ended = WHILE_WAITING | {"expected"} if state.final else set()
    names = {field.name for field in fields(kind)}
    return sorted(names - NEVER - unless.get(state, ended))


def _own(part: object) -> list[str]:
    """What a part of the core knows itself, besides its jobs and other parts."""
    told = []
    for each in fields(part):  # type: ignore[arg-type]
        value = getattr(part, each.name)
        if each.name in ("jobs", "owners", "changed", "plans", "calls_before"):
            continue
        if type(value) in (dict, set):
            told.append(f"{each.name}={sorted(value.items() if type(value) is dict else value)}")
        elif type(value) in (int, bool, str):
            told.append(f"{each.name}={value!r}")
    return told
