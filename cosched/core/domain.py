"""A policy domain: the rules of coscheduling and a scheduler, joined.

A shell tells it what happens (`handle`), and when the scheduler may go on (`schedule`). What the rules want of the
scheduler is carried out here, at once, and so are its timers (`timers`: a shell waits for the first of them). The rest
comes back as changes, in an order in which a domain may be killed at any point: notes first, which are to be recorded
together with the jobs that changed (see `outcome`); what is sent or launched leaves after that. What comes of it is
another event.

Whoever owns the clock decides when `schedule` is called: a simulation at the end of an instant, for one domain after
the other; a service at the end of a turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar, assert_never, get_args

from cosched.core.allocation import NOT_NOW, Allocation, Gathered, SizeChanged
from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.coscheduling.ledger import IllegalEvent
from cosched.core.effects import (
    Answer,
    AskAgain,
    Book,
    Call,
    CancelJob,
    Claim,
    ClearTimer,
    Effect,
    EndRun,
    EndTurn,
    ForScheduler,
    GiveBack,
    HasMate,
    Hold,
    MoveSlot,
    OfGroups,
    OfSlots,
    Quote,
    Record,
    Release,
    Reschedule,
    SetTimer,
    Start,
    Try,
    TryReady,
    Unbook,
    Want,
    Wanted,
    WantUntil,
    Yield,
)
from cosched.core.events import (
    Booked,
    Claimed,
    Event,
    MayBeEarlier,
    NodesLost,
    Quoted,
    Ready,
    Requeued,
    Tried,
    TriedReady,
)
from cosched.core.protocol import JobId
from cosched.core.scheduling import nonsense
from cosched.core.scheduling.places import Places
from cosched.core.scheduling.scheduler import WITH_NODES, ElasticScheduler, GroupScheduler, Meeting, Scheduler, planning
from cosched.core.timers import TimerQueue

# What is left for a shell. Ready: a job is so for the first time. Start: launch the job, on its allocation.
# SizeChanged, Requeued: what the scheduler has done to a running job; before a Start, to give that job nodes. Gathered:
# what it has kept for a job that was not ready yet.
OfRun = Requeued | Start | CancelJob | EndRun
Change = Record | Ready | SizeChanged | Gathered | Wanted | OfRun | Call | Answer

DONE_HERE = frozenset({*get_args(ForScheduler), SetTimer, ClearTimer})
TURNS = (Ready, MayBeEarlier)  # what `next` tells
OUTCOMES = (Quoted, Booked, Claimed)  # what comes of effects on slots
DONE = (SizeChanged, Requeued, NodesLost, Gathered)  # what `take_events` tells

Illegal = Callable[[Event, IllegalEvent], None]


def _raise(_: Event, error: IllegalEvent) -> None:
    raise error


class PolicyDomain:
    """One policy domain."""

    def __init__(
        self,
        coscheduler: Coscheduler,
        scheduler: Scheduler,
        illegal: Illegal = _raise,
        places: Places | None = None,
        timers: TimerQueue | None = None,
    ) -> None:
        """`illegal`: called if the rules refuse what the scheduler has done.

        `places`: names the nodes of jobs, of a scheduler that only counts them. `timers`: those of several domains,
        else it has its own.
        """
        self._name = coscheduler.ledger.domain
        self.coscheduler = coscheduler
        self.scheduler = scheduler
        self._illegal = illegal
        self.places = places
        self.timers = timers or TimerQueue()
        self._elastic = scheduler if isinstance(scheduler, ElasticScheduler) else None
        self._grouping = scheduler if isinstance(scheduler, GroupScheduler) else None
        self._meeting = planning(scheduler)

    def handle(self, event: Event, now: int) -> list[Change]:
        """Something happens at `now`; what follows for others. IllegalEvent, ValueError: nothing was changed."""
        effects = self.coscheduler.handle(event, now)
        for effect in effects:
            if type(effect) in DONE_HERE:
                return self.follow(effects, now)
        return effects  # type: ignore[return-value]  # as is most often so: a question, or an answer

    def follow(self, effects: Iterable[Effect], now: int) -> list[Change]:
        """Carry out what is done here; the rest is left. Also for effects of no event: those of a restart."""
        left: list[Change] = []
        told, carry_out = False, self._CARRY_OUT
        for effect in effects:
            kind = type(effect)
            if kind in carry_out:
                told = True
                carry_out[kind](self, effect, now, left)
            elif kind is SetTimer:
                self.timers.set(self._name, effect)  # type: ignore[arg-type]
            elif kind is ClearTimer:
                self.timers.clear(self._name, effect)  # type: ignore[arg-type]
            else:
                left.append(effect)  # type: ignore[arg-type]
        if told and self._elastic is not None:
            self._take_events(self._elastic, now, left)
        return left

    def _take_events(self, scheduler: ElasticScheduler, now: int, left: list[Change]) -> None:
        """What has been done to jobs that run or hold; mates are concerned if one is queued again."""
        for event in scheduler.take_events():
            if type(event) not in DONE:
                raise nonsense.nonsense("take_events", None, event)
            if isinstance(event, SizeChanged):
                left.append(self.coscheduler.resized(event))
            elif isinstance(event, Gathered):
                left.append(event)
            else:
                if not isinstance(event, NodesLost):
                    left.append(event)
                self._tell(event, now, left)

    def _tell(self, event: Event, now: int, left: list[Change]) -> None:
        """Tell the rules what the scheduler has done."""
        try:
            left += self.handle(event, now)
        except IllegalEvent as error:
            self._illegal(event, error)

    def schedule(self, now: int) -> list[Change]:
        """Let the scheduler go on until nothing changes, or it waits for an answer about a ready job."""
        changes: list[Change] = []
        while (ready := self._given(self.scheduler.next(now), now, changes)) is not None:
            if type(ready) is Ready and self.coscheduler.jobs[ready.job].ready_at is None:
                changes.append(ready)
            self._tell(ready, now, changes)
        return changes

    def _given(
        self, ready: Ready | MayBeEarlier | None, now: int, changes: list[Change]
    ) -> Ready | MayBeEarlier | None:
        """Check what `next` has told, and take what the scheduler has done for it."""
        if ready is not None:
            self._check(ready)
        if self._elastic is not None:
            self._take_events(self._elastic, now, changes)
        if self.places is not None and type(ready) is Ready:
            return replace(ready, allocation=self._placed(ready.job, ready.allocation))
        return ready

    def _check(self, told: Ready | MayBeEarlier) -> None:
        """NonsenseError: it is not a turn of a job, or of one that can have no slot."""
        known = self.coscheduler.jobs.get(told.job) if type(told) in TURNS else None
        if known is None or (type(told) is MayBeEarlier and known.group is None):
            raise nonsense.nonsense("next", None if known is None else known.id, told)
        if type(told) is Ready:
            nonsense.allocation("next", told.job, told.allocation)

    def free_places(self) -> list[str]:
        """Return the names of the nodes that no job has; none if nodes have no names here."""
        return [] if self.places is None else self.places.free(self._taken(self.places))

    def _taken(self, places: Places) -> Iterator[str]:
        for job in self.coscheduler.jobs.values():
            if job.state in WITH_NODES:
                where = None if job.allocation is None else job.allocation.where
                yield from places.had(job.id) if where is None else where

    def _placed(self, job: JobId, allocation: Allocation) -> Allocation:
        """Name the nodes of an allocation, if this is done here. A job that has nodes keeps them."""
        if self.places is None:
            return allocation
        known = self.coscheduler.jobs[job]
        where = None if known.allocation is None else known.allocation.where
        if known.state not in WITH_NODES or where is None or len(where) != allocation.nodes:
            where = self.places.chosen(job, allocation.nodes, self._taken(self.places))
        return replace(allocation, where=where)

    def yield_again(self, job: JobId, now: int) -> None:
        """A ready job yields without asking, with a boost: its mates would answer as before, as the shell knows."""
        rules = self.coscheduler
        self.scheduler.pass_over(job, now, rules.allocations.yields(rules.jobs[job], now))

    # What the rules want of the scheduler: see `_CARRY_OUT`

    def _start(self, effect: Start, now: int, left: list[Change]) -> None:
        started = nonsense.allocation("start", effect.job, self.scheduler.start(effect.job, now))
        allocation = self._placed(effect.job, started)
        self.coscheduler.jobs[effect.job].allocation = allocation
        if self._elastic is not None:
            self._take_events(self._elastic, now, left)  # what others have lost for it comes first
        left.append(Start(effect.job, effect.at, allocation))

    def _try(self, effect: Try, now: int, left: list[Change]) -> None:
        job, at = effect.job, effect.start_at
        tried = self.scheduler.try_start(job, now, effect.wanted_until, at)
        if tried is None:
            return  # it tells later
        if tried is NOT_NOW:
            self._tell(Tried(job, None), now, left)
            return
        allocation = self._placed(job, nonsense.allocation("try_start", job, tried))
        if self._elastic is not None:
            self._take_events(self._elastic, now, left)
        left.append(Start(job, at, allocation))
        self._tell(Tried(job, allocation, at), now, left)

    # Slots. A scheduler that gives none refuses; None: it tells later

    def _for_slot(self, effect: OfSlots, now: int, left: list[Change]) -> None:
        outcome = _refused(effect) if self._meeting is None else _of_slot(self._meeting, effect, now)
        if outcome is not None and (type(outcome) not in OUTCOMES or outcome.job != effect.job):
            raise nonsense.nonsense(f"the effect {type(effect).__name__}", effect.job, outcome)
        if type(outcome) is Claimed and outcome.allocation is not None:
            outcome = replace(outcome, allocation=self._placed(outcome.job, outcome.allocation))
        if outcome is not None:
            self._tell(outcome, now, left)

    # Groups. A scheduler that cannot keep nodes for a member refuses; None: it tells later

    def _for_group(self, effect: OfGroups, now: int, left: list[Change]) -> None:
        grouping, job = self._grouping, effect.job
        match effect:
            case TryReady():
                ready = NOT_NOW if grouping is None else grouping.try_ready(job, now)
                if ready is not None:
                    has = None if ready is NOT_NOW else self._placed(job, nonsense.allocation("try_ready", job, ready))
                    self._tell(TriedReady(job, has), now, left)
            case GiveBack():
                if grouping is not None:
                    grouping.give_back(job, now)
            case WantUntil():
                if grouping is not None:
                    grouping.want_until(job, effect.until)
            case _:
                assert_never(effect)

    def is_paired(self, job: JobId) -> bool:
        """Return whether the job waits for a mate: not if it has none, or coscheduling is off."""
        return self.coscheduler.jobs[job].group is not None and self.coscheduler.ledger.enabled

    _CARRY_OUT: ClassVar[dict[type, Callable[[PolicyDomain, Any, int, list[Change]], None]]] = {
        Try: _try,
        Start: _start,
        Yield: lambda own, effect, now, _: own.scheduler.pass_over(effect.job, now, effect.boost),
        Hold: lambda own, effect, now, _: own.scheduler.hold(effect.job, now, effect.until),
        Release: lambda own, effect, now, _: own.scheduler.release(effect.job, now),
        AskAgain: lambda own, effect, *_: own.scheduler.ask_again(effect.job),
        Reschedule: lambda own, effect, *_: own.scheduler.reschedule(effect.job),
        HasMate: lambda own, effect, *_: own.scheduler.count_paired(effect.job, own.is_paired(effect.job)),
        **dict.fromkeys(get_args(OfSlots), _for_slot),
        **dict.fromkeys(get_args(OfGroups), _for_group),
    }


def _refused(effect: OfSlots) -> Quoted | Booked | Claimed | None:
    """What comes of it where no slots are given."""
    match effect:
        case Quote():
            return Quoted(effect.job, None, effect.for_peer)
        case Book():
            return Booked(effect.job, effect.at, effect.generation, None, effect.for_peer)
        case Claim():
            return Claimed(effect.job, None, effect.for_peer)
        case Want() | MoveSlot() | Unbook() | EndTurn():
            return None
        case _:
            assert_never(effect)


def _of_slot(meeting: Meeting, effect: OfSlots, now: int) -> Quoted | Booked | Claimed | None:
    """What comes of it, if the scheduler tells that at once."""
    match effect:
        case Quote():
            return meeting.quote(effect, now)
        case Book():
            return meeting.book(effect, now)
        case Claim():
            return meeting.claim(effect, now)
        case Want():
            meeting.want(effect.job, effect.wanted)
        case MoveSlot():
            meeting.move_slot(effect.job, effect.moves)
        case Unbook():
            meeting.unbook(effect.job, now)
        case EndTurn():
            meeting.end_turn(effect.job)
        case _:
            assert_never(effect)
    return None
