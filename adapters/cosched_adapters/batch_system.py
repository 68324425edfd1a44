"""The protocol of resource managers that schedule by themselves (Slurm, PBS): their reports and our calls.

A batch system chooses a job and its nodes, and offers it: this is the paper's RunJob (Tang et al., 2011, Algorithm 1).
The core's effects map to calls: `Start` is `start`; `Hold` lets the offer wait; `Yield` is `give_back`; `Release` is
`release`; `Try` is `try_start`, followed by `start`. Reports become the core's events: `Offered` is Ready, `Withdrawn`
is NodesLost or Requeued, `Started` is StartedUnasked (unless we asked for the start), `Ended` is Finished.

Before an adapter opens a gate, so that a job runs, what tells this run from an offer is on disk: its own record, or the
batch system's. Else the next service would take a running job for an offered one, or an offered one for a running one.

A batch system reports only jobs that name a mate. cosched ignores all others. What a job names is a `Named` of the
core: `named_mate(DOMAIN, NAME)` or `named_mate(DOMAIN, mate=ID)`, or `named_group` with the other domains in order. The
domain of a pair's name may be empty: the job does not say it, since there is one other domain, or a configured one.
The members of a group have no ids here.

To add one: a class that implements `BatchSystem`, and an entry point of the group `cosched.adapters` that names a
`BatchSystemFactory`. Both may be in a package of the site's own. What adapters have in common that look at
a queue is in `watched`, `register` and `batch_job`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from cosched.core.protocol import MateProblem, Named
from cosched_adapters.manager import Ended, Manager, NoRequeueError, Started


@dataclass(frozen=True, slots=True)
class LoneJob:
    """A queued job that names nobody, as `adopt` finds it.

    `adoptable`: its owner lets any of his jobs that names it have it. `held`: its owner, or an operator, holds it back.
    """

    owner: str
    adoptable: bool = False
    held: bool = False


@dataclass(frozen=True, slots=True)
class Appeared:
    """A job that names a mate has appeared. This is the first report of each job, unless it is Refused."""

    job_id: str
    submitted_at: int  # seconds since 1970; may change with each requeue
    nodes: int
    owner: str
    named: Named | None  # None (only in Known): the job no longer names a mate
    name: str = ""
    time_limit: int = 0  # seconds; 0: none
    account: str = ""  # the one that the batch system charges; empty: none
    queue: str = ""  # or its partition; empty: there is none


@dataclass(frozen=True, slots=True)
class Refused:
    """A job (array, heterogeneous job) starts alone, though it asks for a mate."""

    job_id: str
    owner: str
    reason: str  # one line for its owner
    named: Named | None = None  # whom it asks for, if it can have no mate; else its words are wrong
    problem: MateProblem | None = None  # what others hear who ask for it


@dataclass(frozen=True, slots=True)
class Divided:
    """The tasks of an array, each a job with a mate: the task of the same number of an array on the other domain.

    It may be repeated, when more tasks are known. `named`: whom the array names, without a number.
    """

    job_id: str
    owner: str
    named: Named
    tasks: frozenset[int]


@dataclass(frozen=True, slots=True)
class Gone:
    """A job that was Refused, or an array that was Divided, has ended, as far as is known."""

    job_id: str


@dataclass(frozen=True, slots=True)
class Relinked:
    """A job names another mate than before, or none."""

    job_id: str
    named: Named | None


@dataclass(frozen=True, slots=True)
class Offered:
    """The manager has chosen the job and its nodes, and keeps the nodes for it until we decide.

    `number`, from 1, is that of no other offer of the job while the manager is open: orders that end an offer name it.
    """

    job_id: str
    submitted_at: int
    nodes: int
    nodelist: str
    owner: str
    named: Named | None
    can_yield: bool  # False: it can only hold, since the manager would cancel it
    number: int
    account: str = ""  # as of Appeared
    queue: str = ""  # as of Appeared, now that nodes are chosen


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The job was offered or running, lost its nodes without giving them back, and is queued again."""

    job_id: str


@dataclass(frozen=True, slots=True)
class Resized:
    """A running job, or one that a try is about to find offered, has another number of nodes than was told before."""

    job_id: str
    nodes: int


@dataclass(frozen=True, slots=True)
class Freed:
    """Nodes are free again: jobs with slots could perhaps start earlier. Only a `MeetingSystem` reports this."""


class NodeState(StrEnum):
    """What a job that comes now would find."""

    IDLE = "idle"
    BUSY = "busy"  # jobs have it, or some of it
    HELD = "held"  # it is kept for a job that waits for its mate
    DOWN = "down"  # nobody can have it


@dataclass(frozen=True, slots=True)
class Foreseen:
    """When a job would start that came now, in seconds since 1970; None: nobody can say. `now`: when that was found."""

    at: int | None
    now: int


@dataclass(frozen=True, slots=True)
class JobOutlook:
    """What the batch system expects of a job that waits, by the last look at its queue."""

    start_at: int | None = None  # seconds since 1970; None: it has no estimate
    reason: str = ""  # why the job waits, in its own word
    place: int = 0  # among the jobs that wait for the same nodes, from 1, as far as it says in which order; 0: unknown
    queued: int = 0  # so many wait there


BatchReport = Appeared | Refused | Divided | Gone | Relinked | Offered | Withdrawn | Resized | Freed | Started | Ended


@dataclass(frozen=True, slots=True)
class Known(Appeared):
    """A job that names a mate, and its present state.

    What counts is our word, not what the batch system shows: an offered job that it shows as running, since its prolog
    waits, is `offered`. `running` it is once it was let go. An ended job is remembered, with its `end`, until `forget`,
    even if the batch system has forgotten it: until then `cancel` does nothing, and no offer of it is reported.
    """

    offered: bool = False  # it has nodes and waits for our decision, or soon will: Offered or Withdrawn follows
    running: bool = False  # it has started and not ended
    end: Ended | None = None  # how it ended, if it has
    began: int | None = None  # when it started, in nanoseconds since 1970; None: it has not, or that is not known


@runtime_checkable
class BatchSystem(Manager[Known, BatchReport], Protocol):
    """A `Manager` that schedules. `open` finds the jobs that name a mate, including those that ended recently.

    An order that names an offer changes nothing if the job is offered anew, or not at all: it may come late. Without
    `offer` it means the offer that the job has.
    """

    @property
    def mate_field(self) -> str:
        """The field of a job that names its mate, as users of the batch system call it, such as "comment"."""

    @property
    def start_lead(self) -> float:
        """How many seconds before an exact instant `start` must be called, at the latest."""

    @property
    def tell_interval(self) -> float:
        """How many seconds there are between two times at which users are told why their jobs wait; 0: never."""
        return 0.0

    @property
    def pass_over(self) -> float:
        """For how many seconds a job is not offered that came while another was tried: longer than a try may take.

        If it came back earlier, it would take the nodes again before the batch system reaches the job that is tried.
        """
        return 3.0

    async def tell(self, job_id: str, text: str) -> None:  # noqa: ARG002
        """Show a line about a job to its user, beside what the batch system says of it; empty: nothing any more."""
        return

    async def look(self, age: float = 0.0) -> bool:
        """Look at the queue now, unless the last look is at most `age` seconds old. Returns after reading all news.

        False: the manager does not answer.
        """

    def outlooks(self) -> Mapping[str, JobOutlook]:
        """Return what is expected of the jobs that wait; unknown ones may be missing."""
        return {}

    def looked_at(self) -> float | None:
        """Return when the last look at the queue began, in seconds since 1970; None: that is not known."""
        return None

    async def node_states(self) -> Mapping[str, NodeState]:
        """Return the present states of all nodes, by name; empty: they are not known."""
        return {}

    async def foresee(self, nodes: int, seconds: int, names: Sequence[str]) -> Foreseen | None:  # noqa: ARG002
        """Return when a job of so many nodes would start that came now, on nodes of these `names` if there are any.

        Jobs that wait come first, and those that run take as long as they may; nothing is promised. None: that is never
        foreseen here.
        """
        return None

    async def start(self, job_id: str, at: float | None = None) -> bool:
        """Let an offered job start, at instant `at` if given (seconds since 1970, at most 10 s ahead).

        False: it is not offered, or no longer; a report says so.
        """

    async def set_task_variables(self, job_id: str, finding: Mapping[str, str]) -> None:  # noqa: ARG002
        """Give the tasks of a job that is about to start these variables, by which they find their mates.

        Where that is impossible nothing is done: they can ask `cosched mates`.
        """
        return

    async def give_back(self, job_id: str, backoff: float | None = None, offer: int | None = None) -> bool:
        """Yield: the job is queued again, and is not offered for `backoff` seconds (None: as configured).

        Returns when the job is queued. False: it has no such offer, or no longer. MustHoldError: see
        `Offered.can_yield`.
        """

    async def release(self, job_id: str, offer: int | None = None) -> bool:
        """End a hold by force: the nodes are offered to all other jobs first, and then perhaps to this one again."""

    async def requeue(self, job_id: str) -> None:
        """End a running job's run, and queue the job again; `Withdrawn` follows. It may be repeated.

        Does nothing to a job that does not run. NoRequeueError: the job cannot be queued again, and runs on.
        """
        raise NoRequeueError(f"job {job_id} cannot be queued again by its batch system")

    async def try_start(self, job_id: str, patience: float | None = None) -> int:
        """Make the manager schedule, and wait up to `patience` seconds for the job's offer (None: as configured).

        Returns the number of the offer that it has now, which is not reported; 0: none. An offer that comes later is
        reported.
        """

    async def take_up_slots(self, slots: Mapping[str, SlotOnRecord]) -> None:  # noqa: ARG002
        """Go on with these jobs' slots, and take away all others of an earlier service (`MeetingSystem`)."""
        return

    async def hasten(self, job_id: str) -> None:
        """Make the manager consider a queued job that it keeps back. An offer is reported."""

    async def adopt(self, job_id: str, named: Named, may: Callable[[LoneJob], bool]) -> bool:
        """Give a mate to a queued job that names none, if it `may` have it. Returns after all news has been read.

        False: there is no such job, or it may not. ValueError: the manager's jobs cannot name this mate.
        """

    async def relink(self, job_id: str, named: Named) -> None:
        """Replace a job's mate by this one. The change is not reported. ValueError as for `adopt`."""

    async def part(self, job_id: str) -> None:
        """Remove a job's mate. The change is not reported."""


@dataclass(frozen=True, slots=True)
class SlotOnRecord:
    """A job's slot: the instant `at` in seconds since 1970, and its generation, which no other slot of the job has."""

    at: int
    generation: int


@dataclass(frozen=True, slots=True)
class WantedStart:
    """A wanted job's offer (its number; 0: none), and by how many seconds it pushes the first job (None: its turn)."""

    offer: int
    pushed: int | None = None


@runtime_checkable
class MeetingSystem(BatchSystem, Protocol):
    """A `BatchSystem` that can keep nodes for one job from an instant on (docs/meet.md). Instants: seconds since 1970.

    A slot is taken away when its job was let go or has ended; one of `start_wanted`, when the job yields.
    """

    async def take_up_slots(self, slots: Mapping[str, SlotOnRecord]) -> None:
        """Go on with these jobs' slots, and take away all others of an earlier service."""

    async def start_wanted(
        self, job_id: str, budget: Fraction, guards: dict[str, int], ready: Collection[str]
    ) -> WantedStart:
        """Offer a wanted job now, if the first job that waits loses no more than the budget. See `try_start`.

        `guards`: by job, up to when wanted jobs may push its start; a new one is added, and those of jobs that wait no
        more are removed. `ready`: jobs that have been ready, and wait for their mates. A job with a slot is refused.
        """

    async def quote(self, job_id: str, not_before: int, paired: Collection[str], *, keep: bool) -> int | None:
        """Return when the job could have a slot from an instant on; `paired` are the jobs that wait for mates.

        `keep`: what is before the slot that the job has may be kept free for it, until `book` or `drop_quote`.
        """

    async def drop_quote(self, job_id: str) -> None:
        """Keep nothing free any more for the last quote. The job keeps its slot."""

    async def book(self, job_id: str, generation: int, at: int, paired: Collection[str]) -> bool:
        """Give the job this slot instead of any that it has, if `quote` would tell it now; else it keeps that."""

    async def claim(self, job_id: str) -> int:
        """Offer the job on the nodes of its slot, which has come; the offer's number. 0: not yet; it keeps the slot."""

    async def unbook(self, job_id: str) -> None:
        """Take the job's slot away, if it has one."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A script that a user submits by `cosched submit`."""

    domain: str
    peers: Sequence[str]  # the domains that it is coupled with
    path: str  # of the script; - is standard input
    script: bytes
    arguments: Sequence[str]
    options: Mapping[str, Any]  # those that the user gave, by the names in `cosched.cli.client.submit.job_options`
    server: str = ""  # the address of the domain's service
    config: str | None = None  # the configuration that the batch system's commands read; None: as the environment says


@dataclass(frozen=True, slots=True)
class Accepted:
    """A job that the batch system has accepted. `remarks` are lines for its user."""

    job_id: str
    names_mate: bool
    remarks: Sequence[str] = ()


Submit = Callable[[Submission], Accepted]


@dataclass(frozen=True, slots=True)
class BatchSystemFactory:
    """What the entry point of a batch system names: a `loading.ManagerFactory` that declares what it makes.

    `submit` runs in `cosched submit`, as the calling user and on the user's host. It raises InputError for what the
    user must correct, and ManagerError. None: users submit with the batch system's own command. `can_meet`: whether it
    gives slots and starts wanted jobs before their turn (meet.md). `can_group`: whether its jobs can name groups
    (`named_group`), and `submit` takes the options `group` and `members`; else its domains take no members of groups.
    `names_nodes`: whether `submit` takes the option `nodelist`, names of nodes joined by commas.
    """

    make: Callable[[str, Path, Mapping[str, object]], BatchSystem]
    submit: Submit | None = None
    can_meet: bool = False
    can_group: bool = False
    names_nodes: bool = False

    def __call__(self, domain: str, directory: Path, settings: Mapping[str, object]) -> BatchSystem:
        """See `loading.ManagerFactory`."""
        return self.make(domain, directory, settings)
