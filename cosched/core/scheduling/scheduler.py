"""What a policy domain asks of its scheduler, and what a cluster is told: its settings, its jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Protocol, runtime_checkable

from cosched.core.allocation import Allocation, Gathered, Given, SizeChanged, Table
from cosched.core.effects import (
    Book,
    Claim,
    EndTurn,
    PassOver,
    Quote,
    Release,
    Reschedule,
    Try,
    TryReady,
    Unbook,
    Yield,
)
from cosched.core.events import Booked, Claimed, MayBeEarlier, NodesLost, Quoted, Ready, Requeued
from cosched.core.job import JobState, SlotMoves
from cosched.core.protocol import JobId
from cosched.core.scheduling.capabilities import Capabilities
from cosched.core.scheduling.policies.ordering import Ordering
from cosched.core.scheduling.pools import Partitions
from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.run_times import RunTimes
from cosched.core.scheduling.site_tables import SiteTables
from cosched.core.scheduling.starts import RecentStarts

# What a batch system is told.
Order = Yield | Release | Try | TryReady | Reschedule | PassOver | Quote | Book | Unbook | Claim | EndTurn
WITH_NODES = (JobState.READY, JobState.HOLDING, JobState.RUNNING)


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """A machine of `nodes` nodes and how its queue is scheduled; `partitions` None: a flat pool.

    `mate_budget`: by which part of its wait the first job may be pushed by wanted ones; 0: by nothing. `slots`: whether
    jobs are given slots, instants at which they start with their mates. `mate_budget_share`: which part of an owner's
    jobs of a week may start before their turn; only a live domain counts them.
    """

    nodes: int
    ordering: Ordering
    backfilling: int
    partitions: Partitions | None = None
    wanted_first: bool = True
    mate_budget: Decimal = Decimal(0)
    slots: bool = False
    mate_budget_share: Decimal = Decimal(1)

    @property
    def meets(self) -> bool:
        """Whether pairs are started here without holding, by budget or slots."""
        return self.slots or self.mate_budget > 0


@dataclass(frozen=True, slots=True)
class ClusterJob:
    """What all schedulers know of a job. What one alone keeps of it over a restart is in `kept`, as plain values."""

    id: JobId
    nodes: int
    requested: int
    submitted: int
    paired: bool  # it waits for a mate
    state: JobState = JobState.QUEUED
    expected: int = NONE  # when its nodes are expected back
    passed_over: int = 0
    wanted_until: int = 0
    released: int = 0
    owner: str = ""  # its record has it
    columns: Any = field(default_factory=dict)  # what its kind of scheduler has read of it (SchedulerKind.read)
    kept: Mapping[str, Any] = field(default_factory=dict)
    nodelist: tuple[str, ...] = ()  # the names of nodes that it must have; only where it takes `nodelists`

    def to_keep(self) -> dict[str, Any]:
        """Return what is kept over a restart, as plain values; what has its default is left out."""
        kept: dict[str, Any] = {}
        for name, default in _KEPT.items():
            if (value := getattr(self, name)) != default:
                kept[name] = value
        return kept | dict(self.kept)

    def with_kept(self, kept: Mapping[str, Any]) -> ClusterJob:
        """Return the job with what was kept of it."""
        common = {name: value for name, value in kept.items() if name in _KEPT}
        return replace(self, **common, kept={name: value for name, value in kept.items() if name not in common})


_KEPT = {"expected": NONE, "passed_over": 0, "wanted_until": 0, "released": 0}


class Scheduler(Protocol):
    """Who chooses jobs and their nodes, for one policy domain; it knows no mates.

    A job that it has chosen is `next`; it keeps its nodes until it is answered by start, hold or pass_over. Whatever a
    scheduler cannot tell at once comes later, as an event (Tried, StartedUnasked, NodesLost).

    What it does to running jobs it tells as an `ElasticScheduler`. One that can plan ahead has a `Meeting`:
    a domain with any other can have no slots, and says so at its start.
    """

    def next(self, now: int) -> Ready | MayBeEarlier | None:
        """Return the next job that is ready, or has its turn; None: nothing is left to do, or an answer is awaited."""

    def start(self, job: JobId, now: int) -> Allocation:
        """Start a job that has nodes (ready or holding), on what is returned."""

    def hold(self, job: JobId, now: int, until: int) -> None:
        """Keep a ready job's nodes; they are expected back at `until`."""

    def ask_again(self, job: JobId) -> None:
        """Note that a holding job is ready again, on its nodes."""

    def pass_over(self, job: JobId, now: int, boost: float) -> None:
        """Take a ready job's nodes back, and pass it over for the rest of this instant; its score is `boost` times."""

    def release(self, job: JobId, now: int) -> None:
        """End a hold by force."""

    def try_start(self, job: JobId, now: int, wanted_until: int, start_at: float | None = None) -> Given | None:
        """TryStartMate: start a queued job if an iteration run now would; else it is wanted until then. None: later.

        `start_at`: the instant at which its mate could start, in seconds since 1970.
        """

    def reschedule(self, job: JobId | None = None) -> None:
        """Run an iteration, though an answer may be awaited: something about this job (None: anything) changed."""

    def count_paired(self, job: JobId, paired: bool) -> None:
        """Note whether the job waits for a mate. For `try_start`, one that does not is like a job without a mate."""


@runtime_checkable
class ElasticScheduler(Scheduler, Protocol):
    """One that resizes or preempts running jobs by itself, or takes the nodes of jobs that hold.

    It may do so in any call but a try that it refuses; where it lags (OpenScheduler), jobs may be resized in that, too.

    A job that it makes ready need not have its nodes yet: it may take them from others when the job starts. Until then
    the job cannot hold (Ready).
    """

    def take_events(self) -> Sequence[SizeChanged | Requeued | NodesLost | Gathered]:
        """What it has done to running jobs since the last time, in order, and holds it ended (NodesLost); no starts."""


@runtime_checkable
class StopsLater(Protocol):
    """One that lags, and may stop others only when a job starts whose mate has agreed on an instant after their end."""

    def stop_later(self, may: Callable[[JobId], bool]) -> None:
        """Let jobs for which `may` is true become ready on nodes of others, which they stop when they start."""

    def stops_others(self, job: JobId) -> bool:
        """Return whether the job is ready, and would stop others if it started."""


@runtime_checkable
class GroupScheduler(Scheduler, Protocol):
    """One that keeps the nodes of a queued job while the other members of its group are asked (coscheduling.md)."""

    def try_ready(self, job: JobId, now: int) -> Given | None:
        """Make a queued job ready if an iteration run now would start it. None: it is told later (TriedReady)."""

    def give_back(self, job: JobId, now: int) -> None:
        """Queue a job that `try_ready` has made ready, as it was before. It has not yielded.

        If an iteration has run meanwhile another one follows. Jobs that have yielded at this instant have their turn
        in a later one (`next_event`): two domains would otherwise ask each other at one instant without end.
        """

    def want_until(self, job: JobId, until: int) -> None:
        """Members of the job's group hold nodes: after a release the job comes before those that nobody waits for."""


@runtime_checkable
class Meeting(Protocol):
    """What starts pairs without holding (meet.md): wanted jobs before their turn, and slots.

    A part that a scheduler holds as `meeting`, or the scheduler itself. Outcomes that it cannot tell at once come
    later, as events.
    """

    def want(self, job: JobId, wanted: bool) -> None:
        """Note whether a mate has asked for this job, perhaps before its submission. `try_start` asks for it too."""

    def quote(self, effect: Quote, now: int) -> Quoted | None:
        """Return the earliest instant at which a queued or ready job fits in the plan; its own slot does not count."""

    def book(self, effect: Book, now: int) -> Booked | None:
        """Give a job this slot, if it is what `quote` would tell now."""

    def move_slot(self, job: JobId, moves: SlotMoves) -> None:
        """When the job's slot may move to an earlier instant. A new slot may as soon as the job could start earlier."""

    def unbook(self, job: JobId, now: int) -> None:
        """Take the job's slot away, if it has one. (It is taken away by a start, too.)"""

    def claim(self, effect: Claim, now: int) -> Claimed | None:
        """Make a queued job ready on the nodes of its slot, if that has come and they are free."""

    def end_turn(self, job: JobId) -> None:
        """Go on after the turn (MayBeEarlier) of a queued job, if it is its turn."""


def planning(scheduler: object) -> Meeting | None:
    """Return what plans ahead in this scheduler, with its settings; None: nothing does, whatever it could do."""
    able = getattr(scheduler, "capabilities", Capabilities(slots=True)).slots
    held = getattr(scheduler, "meeting", None)
    meeting = scheduler if held is None else held
    return meeting if able and isinstance(meeting, Meeting) else None


@runtime_checkable
class LosesNodes(Protocol):
    """One whose nodes can leave service and come back, by the script of a replay. Nothing of it outlives a restart."""

    def drain(self, nodes: int) -> None:
        """Take so many nodes out of service as they become free."""

    @property
    def draining(self) -> int:
        """Nodes that are to leave service and are still occupied."""

    def lose(self, job: JobId, now: int) -> None:
        """The nodes of a job that holds are gone: it is queued again."""

    def bring_back(self, nodes: int) -> None:
        """Take so many nodes into service again, as many as are out of it."""


class OpenScheduler(Scheduler, Protocol):
    """The scheduler of a live domain, whose jobs come and go. `SchedulerBase` has what most need not say."""

    nodes: int
    capabilities: Capabilities  # of this scheduler, with its settings
    starts: RecentStarts  # those that it counts, to bound starts before their turn
    run_times: RunTimes | None  # what it learns of jobs that run; None: nothing
    site_tables: SiteTables  # its machines and what else it knows of its site, if they are not alike

    def check(self, job: ClusterJob) -> None:
        """ValueError if this job, which fits, can never run here, or cannot be counted."""

    def predict(self, job: JobId, table: Table, now: int) -> None:
        """A running job tells its times and costs; ValueError if they cannot be counted, and nothing has changed."""

    def lag(self) -> None:
        """From now on a node that a running job gives up is free only when that `uses` it no more, not at once.

        So a job with a mate is ready only once its nodes are free. It keeps them meanwhile; what it has so kept is told
        (Gathered).
        """

    def uses(self, job: JobId, nodes: int) -> None:
        """Note how many nodes nobody but this running job can have, as its manager says."""

    def kept_free(self) -> int:
        """Return how many nodes are free, and must stay so, for jobs that are ready or hold; of one that lags."""

    def counts(self) -> Mapping[str, Any]:
        """Return what it has counted so far, by name; for `SchedulerKind.facts`."""

    def takes_up(self, job: ClusterJob) -> bool:
        """Return whether it can take up a job with nodes from another kind of scheduler, with what that has kept."""

    def submit(self, job: ClusterJob) -> None:
        """Note that a job is queued, or (after a restart) has the nodes that it had."""

    def learn(self, job: JobId, seconds: int) -> None:
        """Note that a running job, which leaves next, has completed after so many seconds."""

    def leave(self, job: JobId, now: int, how: JobState) -> None:
        """Note that the job ended, or was cancelled, in the final state `how`; its nodes are free."""

    def job(self, job: JobId) -> ClusterJob:
        """Return all that is known of a job."""

    def __contains__(self, job: JobId) -> bool: ...

    def pushed(self, job: JobId) -> int | None:
        """By how many seconds this job pushes the first one, if it got its nodes before its turn; None: it did not."""

    def kept_of_domain(self) -> Mapping[str, Any]:
        """What is kept over a restart beside its jobs, as plain values. After each change it is a new mapping."""

    def recall(self, kept: Mapping[str, Any]) -> None:
        """After a restart, before any job is submitted: what `kept_of_domain` has told last."""

    def fits(self, nodes: int) -> bool:
        """Return whether a job of this size can run at all."""

    def rounded(self, nodes: int) -> int:
        """Return the nodes that a job of this size takes; ValueError if it is larger than the machine."""

    def enter(self, now: int) -> None:
        """Note that it is `now`."""

    @property
    def awaited(self) -> JobId | None:
        """The job for whose answer an iteration waits."""

    def next_event(self, now: int) -> int | None:
        """Return when the scheduler wants to go on though nothing happens; None: never."""

    def take_orders(self) -> Sequence[Order]:
        """Return the orders to a batch system behind it since the last time, for when they are on record."""

    def take_changed(self) -> Sequence[JobId]:
        """Return the jobs whose kept state has changed since the last time without an effect."""

    def in_order(self, now: int) -> Sequence[JobId]:
        """Return the queued jobs in the order of their turns, for people who wait; empty: nobody can say it."""

    def used(self) -> dict[JobState, int]:
        """Return the nodes of ready, holding and running jobs."""

    @property
    def free(self) -> int:
        """Nodes that nobody has."""
