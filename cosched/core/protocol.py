"""The calls between policy domains and their answers.

The four of Algorithm 1 (Tang et al.), four for groups and for slots (coscheduling.md): a pair is a group of two. And
TellMember, by which a domain tells what changes what a mate should do.

A call that changes something has a request id, `DOMAIN/JOB/NUMBER`: the calling job, and the number of the call among
those of that job. A retry has the id of the first attempt. The number shows whether a call is older than another one
that arrived before it. Such calls and their answers may have `start_at`, the instant at which both jobs are to start
(seconds since 1970, by this domain's clock). The core only passes it on, to whoever starts jobs.
"""

from __future__ import annotations

import re
from enum import Enum, StrEnum, auto
from typing import Annotated, NamedTuple, assert_never

from cosched.core.settings import OnMemberRequeued

_TASK = re.compile(r"(.+)\[([0-9]{1,9})\]", re.DOTALL)  # no user's name has brackets

JobId = str
Domain = str

LONGEST_OFFSET = 7 * 86_400  # seconds of a window from the group's common instant
MAX_MEMBERS = 16  # of a group
NO_HOLD = 1 << 62  # a generation that no hold ever has
FOREVER = 1 << 62  # an instant that never comes, such as the end of a hold without a release timer


class Instant(Enum):
    """What an instant in a message is, which says how it is translated between the clocks of two domains."""

    OF_CALLER = auto()  # by the clock of the domain that calls
    OF_CALLED = auto()  # by the clock of the domain that is called
    AFTER_QUESTION = auto()  # of an answer: it counts from `not_before` in the question
    PAST = auto()  # of an answer: it has been, by the clock of the domain that answers
    START = auto()  # of two jobs, or of a job whose group has started
    START_IF_ALL_CAN = auto()  # of a group whose members are being asked
    START_OF_ALL = auto()  # of a group that starts


OfCaller = Annotated[int, Instant.OF_CALLER]
OfCalled = Annotated[int, Instant.OF_CALLED]
StartAt = Annotated[float | None, Instant.START]


class Window(NamedTuple):
    """When the group's job on `domain` starts: `earliest` to `latest` seconds after the group's common instant."""

    domain: Domain
    earliest: int
    latest: int


class Terms(NamedTuple):
    """What a job does when others with which it has started end, or are queued again.

    `ends_with`: it ends when the members on these domains have ended. `fail_together`: it fails if another one fails,
    or is cancelled while it runs. `if_requeued`: None: as its domain has it. `together_for`: the seconds after its
    start within which it is queued again with others; None: always.
    """

    ends_with: tuple[Domain, ...] = ()
    fail_together: bool = False
    if_requeued: OnMemberRequeued | None = None
    together_for: int | None = None

    def follows(self, peer: Domain) -> bool:
        """Return whether the end of the member there may end the job."""
        return self.fail_together or peer in self.ends_with


NO_TERMS = Terms()


def array_of(name: str) -> tuple[str, int] | None:
    """Return the name and the number that make the name NAME[TASK] of an array's task; None: it is not a task's."""
    match = _TASK.fullmatch(name) if name.endswith("]") else None
    return None if match is None else (match[1], int(match[2]))


class Named(NamedTuple):
    """Those with which a job starts, as its owner names them: its mate, or one job on each of the `others`, in order.

    They carry the same `name`, of their pair or group, or are named by their `ids`, in the order of domains; a mate by
    one of the two. Who is named by an id need name nobody. `or_alone`: the job goes on without those that it cannot
    have, whatever the settings say. Of groups only: `windows` of those members whose window is not [0, 0], in the order
    of domains, and `at`, the common instant, in seconds since 1970, if that is given.
    """

    others: tuple[Domain, ...]
    name: str = ""
    ids: tuple[tuple[Domain, JobId], ...] = ()
    or_alone: bool = False
    is_pair: bool = False
    windows: tuple[Window, ...] = ()
    at: int | None = None
    terms: Terms = NO_TERMS

    def __str__(self) -> str:
        """Return the name for people."""
        return f"{self.peer}:{self.mate or self.name}" if self.is_pair else f"{self.name}@{'+'.join(self.others)}"

    @property
    def peer(self) -> Domain:
        """The domain of a mate; empty: it is not named."""
        return self.others[0] if self.is_pair else ""

    @property
    def pair(self) -> str | None:
        """The name of a pair, if it has one."""
        return (self.name or None) if self.is_pair else None

    @property
    def mate(self) -> JobId | None:
        """The id of a mate, if it is named by that."""
        return self.ids[0][1] if self.is_pair and self.ids else None

    def with_mate(self, mate: JobId | None) -> Named:
        """Return the same mate, whose id is this."""
        return self._replace(ids=() if mate is None else ((self.peer, mate),))


def named_mate(peer: Domain, pair: str | None = None, mate: JobId | None = None, or_alone: bool = False) -> Named:
    """The mate on `peer` (empty: its domain is not named), by the name of the `pair` or by the id of the `mate`."""
    return Named((peer,), pair or "", () if mate is None else ((peer, mate),), or_alone, is_pair=True)


def named_group(
    name: str,
    others: tuple[Domain, ...],
    or_alone: bool = False,
    windows: tuple[Window, ...] = (),
    at: int | None = None,
    ids: tuple[tuple[Domain, JobId], ...] = (),
) -> Named:
    """Return the group of this name."""
    return Named(others, name, ids, or_alone, windows=windows, at=at)


NO_MATE = named_mate("")


class Found(StrEnum):
    """What a domain knows of the mate that a peer's job names."""

    MATE = "mate"
    UNSUBMITTED = "unsubmitted"  # no job here has the pair's name yet
    NO_PAIR = "no_pair"  # there is no such pair, or coscheduling is off there
    BUSY = "busy"  # it asks first whether the mate has ended in whose place the caller is: ask again soon


class MateProblem(StrEnum):
    """Why a job cannot be the mate of the one that names it."""

    UNKNOWN = "unknown"  # there is no such job
    NOT_WAITING = "not_waiting"  # no job of that id and owner waits without a mate; why is not known
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    OTHER_OWNER = "other_owner"
    TAKEN = "taken"  # it has another mate
    NAMES_PAIR = "names_pair"  # it waits for the job of a pair's name
    UNLINKED = "unlinked"  # its owner has unlinked it from the one that names it
    OFF = "off"  # coscheduling is off there
    OTHER_DOMAINS = "other_domains"  # the job of that group names other domains
    NO_GROUPS = "no_groups"  # the domain takes no members of groups
    OTHER_WINDOWS = "other_windows"  # the job of that group gives its members other windows, or another instant
    NO_DOMAIN = "no_domain"  # the name of its pair came without a domain, and there are several
    NO_SLOTS = "no_slots"  # the group starts by slots only, and the domain gives none
    CIRCLE = "circle"  # each would end with the other
    ARRAY = "array"  # it is an array of jobs, which can have no mate, or not one of the caller's tasks
    HETEROGENEOUS = "heterogeneous"  # it is a heterogeneous job whose components name different mates


class Status(StrEnum):
    """The state of a mate, as its own domain says."""

    HOLDING = "holding"  # it has nodes and waits: for its mate, or for the answers to its own questions
    QUEUING = "queuing"
    UNSUBMITTED = "unsubmitted"
    RUNNING = "running"
    ENDED = "ended"
    CANCELLED = "cancelled"
    FAILED = "failed"
    UNKNOWN = "unknown"


class EndedBy(StrEnum):
    """Who has ended a job."""

    ITSELF = "itself"  # or its resource manager
    OWNER = "owner"  # who may submit another in its place
    OWNER_FOR_GOOD = "owner_for_good"  # who submits no other
    MATE = "mate"  # the end, or another change, of one with which it starts or has started


class Failure(StrEnum):
    """How a call fails without an answer."""

    UNREACHABLE = "unreachable"  # the call was not sent
    TIMEOUT = "timeout"  # it may have been carried out
    REFUSED = "refused"  # by certificate or permission: a misconfiguration
    BUSY = "busy"  # it was not carried out, but the peer is alive
    SLOW = "slow"  # it may have been carried out, and the peer is alive


class GetMateJobId(NamedTuple):
    """Which job of yours is the mate of my `caller`, which names a `pair` or your job `mate`?"""

    caller: JobId
    pair: str | None
    mate: JobId | None
    owner: str
    ends_with: tuple[Domain, ...] = ()  # as in Terms, of the caller
    fail_together: bool = False


class GetMateStatus(NamedTuple):
    """In what state is your `job`, which starts with my `caller`?"""

    job: JobId
    caller: JobId


class TryStartMate(NamedTuple):
    """Start your `job` if a scheduling iteration would start it now.

    If not, my `caller` holds until `hold_until` (0: it yields). `runs`: how many the job has begun, as the caller was
    told; a job that waits and has begun more is not started, since the call is of a run that is over. None: the caller
    does not say.
    """

    request_id: str
    job: JobId
    caller: JobId
    hold_until: OfCaller
    start_at: StartAt = None  # the caller can start at this instant, or at a later one
    runs: int | None = None


class StartJob(NamedTuple):
    """Start your holding `job`, if its hold still has this generation.

    With NO_HOLD nothing is started: the call has a later number than one that was given up, and makes that void.
    """

    request_id: str
    job: JobId
    caller: JobId
    generation: int
    start_at: StartAt = None  # as in TryStartMate
    runs: int | None = None  # as in TryStartMate


class GetMember(NamedTuple):
    """Which job of yours is in the group of my `caller`, which has one job on each of these domains, in order?

    `member`: it names that one by its id.
    """

    caller: JobId
    group: str
    domains: tuple[Domain, ...]
    owner: str
    windows: tuple[Window, ...] = ()  # as in Named
    at: int | None = None
    member: JobId | None = None
    ends_with: tuple[Domain, ...] = ()  # as in GetMateJobId
    fail_together: bool = False


class ProposeGroupStart(NamedTuple):
    """Keep the nodes of your `job` for a start of its group, now.

    If that cannot be, my `caller` may hold until `hold_until` (0: it yields). `lease`: the seconds after which to ask
    for the outcome, if it has not been told.

    With `not_before`: from that instant on, when could your job start? No nodes are kept. If it could start right then,
    and the call says to `book`, that instant becomes the job's slot, by the name of this proposal. A slot must come
    before `only_before` (0: no bound). In a group that starts by slots only, it is for the common `instant`, and no
    slot of a job moves later.
    """

    request_id: str  # the name of the proposal
    job: JobId
    caller: JobId
    hold_until: OfCaller
    lease: int
    start_at: Annotated[float | None, Instant.START_IF_ALL_CAN] = None  # as in TryStartMate
    not_before: Annotated[int | None, Instant.OF_CALLED] = None  # None: now
    only_before: OfCalled = 0
    book: bool = False
    slot: str = ""  # the name of the slot that the group has; if the start is now: that has come
    without: tuple[Domain, ...] = ()  # whose members do not take part
    instant: Annotated[int | None, Instant.OF_CALLED] = None  # of a group that starts by slots only


class SettleGroupStart(NamedTuple):
    """Start your `job`, which is booked by this proposal; not `start`: the proposal, or the slot, is dropped.

    If it is, my `caller` holds until `hold_until` (0: it does not). `keep`: the slot is kept, since all have booked it.
    """

    request_id: str
    job: JobId
    caller: JobId
    start: bool
    hold_until: OfCaller = 0
    start_at: Annotated[float | None, Instant.START_OF_ALL] = None
    keep: bool = False


class GetProposal(NamedTuple):
    """What has become of the proposal by which my `caller` is booked? One of yours that is undecided is dropped."""

    request_id: str
    job: JobId
    caller: JobId


class TellMember(NamedTuple):
    """Ask again about my `caller`, with which your `job` starts, or has started: it has changed.

    That is a hint, which says nothing that counts. The `number` of those of a caller grows; only the latest is told.
    """

    job: JobId
    caller: JobId
    number: int


class MateJobId(NamedTuple):
    """Answer to GetMateJobId and GetMember. `job` is the mate or member, if one was found.

    `problem`: why there is no such pair or group, or why the job that was found does not wait (any more).
    """

    found: Found
    job: JobId | None
    problem: MateProblem | None = None  # also None if its domain does not say


class MateStatus(NamedTuple):
    """Answer to GetMateStatus; `started_at` of a job that has started, `ended_at` and `ended_by` of one that has ended.

    `runs`: how many it has begun; it may have been queued again since.
    """

    status: Status
    generation: int
    started_at: Annotated[int | None, Instant.PAST]
    may_book: bool = False  # it queues, has been ready once, and its domain gives slots
    runs: int = 0
    ended_at: Annotated[int | None, Instant.PAST] = None
    ended_by: EndedBy = EndedBy.ITSELF


class MateTried(NamedTuple):
    """Answer to TryStartMate."""

    started: bool
    start_at: StartAt = None  # the agreed instant; None: it has started at once
    may_book: bool = False  # as in MateStatus


class MateStarted(NamedTuple):
    """Answer to StartJob; not `started`: that hold has ended."""

    started: bool
    start_at: StartAt = None  # as in MateTried


class Settled(NamedTuple):
    """Answer to SettleGroupStart: whether that slot, or promise of nodes, was in force."""

    current: bool


class Vote(StrEnum):
    """What a member answers to a proposal to start its group."""

    BOOKED = "booked"  # its nodes are kept
    BUSY = "busy"  # it is booked by another proposal, or proposes and goes first: ask again soon
    NO = "no"


class GroupProposed(NamedTuple):
    """Answer to ProposeGroupStart. `start_at`: the earliest instant at which the member can start.

    `earliest`: that from `not_before` on, whether it is booked or not; None: there is none, or it was not asked.
    """

    vote: Vote
    start_at: Annotated[float | None, Instant.START_IF_ALL_CAN] = None
    earliest: Annotated[int | None, Instant.AFTER_QUESTION] = None


class Outcome(StrEnum):
    """What has become of a proposal, as far as the domain knows that is asked."""

    STARTED = "started"
    DROPPED = "dropped"
    UNKNOWN = "unknown"  # it is not the domain's own, and its member has not started by it


class ProposalOutcome(NamedTuple):
    """Answer to GetProposal."""

    outcome: Outcome
    start_at: StartAt = None


class MemberTold(NamedTuple):
    """Answer to TellMember. Not `heard`: the job does not start with the caller, or a later number was heard."""

    heard: bool


GroupOrder = ProposeGroupStart | SettleGroupStart | GetProposal
AboutGroup = GetMember | GroupOrder
Lookup = GetMateJobId | GetMember  # which job starts with the caller
MutatingRequest = TryStartMate | StartJob
Request = GetMateJobId | GetMateStatus | MutatingRequest | AboutGroup | TellMember
MutatingReply = MateTried | MateStarted
GroupReply = GroupProposed | Settled | ProposalOutcome
Reply = MateJobId | MateStatus | MutatingReply | GroupReply | MemberTold


def named_id(request: Request) -> JobId | None:
    """Return the mate, or the member, that a question names by its id and by nothing else."""
    if isinstance(request, GetMember):
        return request.member
    return request.mate if isinstance(request, GetMateJobId) and request.pair is None else None


def call_number(request_id: str) -> int:
    """Return the last part of a request id; 0 if that is not a number (the id of another implementation)."""
    number = request_id.rpartition("/")[2]
    return int(number) if number.isdecimal() else 0


def may_have_dropped_slot(request: Request, reply: Reply) -> bool:
    """Return whether the answering member may have dropped its group's slot everywhere, untold to the caller."""
    asked = isinstance(request, ProposeGroupStart) and request.not_before is not None
    return asked and isinstance(reply, GroupProposed) and reply.earliest is None


def has_changed(request: Request, reply: Reply) -> bool:
    """Return whether the call has changed that domain's schedule: a start, or a slot set, moved or dropped.

    Or it may have: a job there that had to ask first may have learnt that it waits for another one.
    """
    match reply:
        case MateTried() | MateStarted():
            return reply.started
        case GroupProposed():
            return isinstance(request, ProposeGroupStart) and request.book and reply.vote is Vote.BOOKED
        case Settled():
            return reply.current and isinstance(request, SettleGroupStart) and not request.keep
        case MateJobId():
            return reply.found is Found.BUSY
        case MateStatus() | ProposalOutcome() | MemberTold():
            return False
        case _:
            assert_never(reply)
