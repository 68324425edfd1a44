"""The ledger of one policy domain: its paired jobs with their states, and what is common to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple, Unpack

from cosched.core.allocation import Allocation
from cosched.core.coscheduling import holds
from cosched.core.coscheduling.membership import NOTHING, Membership
from cosched.core.coscheduling.slot_use import IN_VAIN, SlotUse
from cosched.core.effects import Effect, Record
from cosched.core.job import JobState
from cosched.core.kept import Beside, Kept
from cosched.core.protocol import (
    FOREVER,
    NO_MATE,
    Domain,
    EndedBy,
    JobId,
    MutatingRequest,
    Named,
    SettleGroupStart,
    TellMember,
)
from cosched.core.settings import CoschedulingSettings, OnMemberRequeued
from cosched.core.story import Detail, What, Why

CONTINUE = OnMemberRequeued.CONTINUE  # a member that is read from its class takes 0.1 us in Python 3.11


class IllegalEvent(Exception):  # noqa: N818
    """An event that the job's state does not allow; nothing was changed."""


class Untold(NamedTuple):
    """What another member of the job's group was told, and has not acknowledged."""

    request: SettleGroupStart
    since: int


class News(NamedTuple):
    """What another member's domain has not acknowledged: our job has changed."""

    request: TellMember
    since: int


class Parted(NamedTuple):
    """The mate that a job had until its owner unlinked the two, and the name of their pair; empty: it had none."""

    peer: Domain
    mate: JobId
    pair: str | None = None  # None: an earlier version did not keep it


@dataclass(slots=True)
class PairedJob:
    """A local job, and the `group` of those that it starts with: they name each other. None: there are no others."""

    id: Beside[JobId]
    owner: Beside[str]
    group: Kept[Membership | None] = None
    state: Beside[JobState] = JobState.QUEUED
    allocation: Kept[Allocation | None] = None  # what it has, or had last
    holds: Kept[int] = 0
    generation: Kept[int] = 0  # of its hold; the first hold is 1
    disclosed: Kept[bool] = False  # it is ready, and a peer was told that it holds
    yields: Kept[int] = 0
    yielded_at: Kept[int | None] = None  # the instant of the last yield
    ready_at: Beside[int | None] = None  # its first RunJob
    started_at: Beside[int | None] = None
    start_at: Kept[float | None] = None  # the agreed instant at which it starts, in seconds since 1970
    held_since: Kept[int] = 0
    held_until: Kept[int] = 0
    held_node_seconds: Kept[int] = 0
    slot_node_seconds: Kept[int] = 0  # of nodes that were free for it while it had a slot
    fits_since: Kept[int | None] = None  # it has a slot, and nodes have been free for it since then
    hold_limit: Kept[int] = 0
    hold_ends: Kept[int] = 0  # it is ready again after a hold, which ends then; 0: it did not hold
    missed: Kept[bool] = False  # it waits because its question about another got no answer
    cannot_yield: Kept[bool] = False
    will_hold: Kept[bool] = False  # it holds if the others cannot start; decided when it proposes that they do
    alone: Kept[bool] = False  # its patience has ended: it waits no longer for others that are unsubmitted or unknown
    problem: Kept[str] = ""  # a MateProblem: why there is no such mate, by the last answer
    calls: Kept[int] = 0  # mutating calls made, for their request ids
    call: Kept[MutatingRequest | None] = None  # the call that may start its mate, whose answer it awaits
    call_since: Kept[int] = 0  # when it called, or asked all others
    uncertain: Kept[bool] = False  # that call has timed out: it may have been carried out
    slot: Kept[int | None] = None  # the instant at which it starts with the others, by agreement
    slot_generation: Kept[int] = 0  # grows when a slot is set, moved or dropped
    proposes: Kept[bool] = False  # this domain has proposed the slot, and has all start at it
    confirmed: Kept[bool] = False  # the slot is kept, and this domain knows that: if it proposes, that all others know
    in_doubt: Kept[bool] = False  # a call was given up that may yet start the mate: no later one has been answered
    wanted: Kept[bool] = False  # its mate has asked for it
    parted: Kept[Parted | None] = None  # its owner has unlinked it from this mate, which cannot adopt it
    adoptable: Kept[bool] = False  # it names nobody, and its owner lets any job of the same owner that names it have it
    untold: Kept[Mapping[Domain, Untold]] = NOTHING  # perhaps of a group that it was in
    news: Kept[Mapping[Domain, News]] = NOTHING  # for those with which it starts, or once was to start
    news_told: Kept[int] = 0  # the number of the last one
    hinted: Kept[bool] = False  # one of its mates has changed: it asks as soon as it can
    runs: Kept[int] = 0  # how many it has begun
    ended_at: Kept[int | None] = None
    ended_by: Kept[EndedBy] = EndedBy.ITSELF
    ending: Kept[Why | None] = None  # the rules have ended this run, for this reason; it may not be over yet
    again: Kept[bool] = False  # it is queued again then

    @property
    def nodes(self) -> int:
        """The nodes that it has, or had last."""
        return 0 if self.allocation is None else self.allocation.nodes

    @property
    def peers(self) -> tuple[Domain, ...]:
        """The domains of those with which it starts."""
        return () if self.group is None else self.group.others

    @property
    def is_pair(self) -> bool:
        """Whether it has a mate, and no group of that name."""
        return self.group is not None and self.group.is_pair

    @property
    def peer(self) -> Domain:
        """The domain of its mate; empty: it has none."""
        return self.group.others[0] if self.group is not None and self.group.is_pair else ""

    @property
    def pair(self) -> str | None:
        """The name of its pair, if it has one."""
        return (self.group.name or None) if self.group is not None and self.group.is_pair else None

    @property
    def mate(self) -> JobId | None:
        """The id of its mate, if it has one and that is known."""
        group = self.group
        return group.jobs.get(group.others[0]) if group is not None and group.is_pair else None

    def keeps_nodes_until(self, now: int) -> int:
        """Return when its hold ends: sooner if it waits for another in the place of a mate, unless that comes."""
        awaited = self.group.awaited(now) if self.group is not None and not self.alone else ()
        return min([self.held_until, *(lost.hold_until for lost in awaited if lost.hold_until > now)])

    def is_parted_from(self, peer: Domain, mate: JobId) -> bool:
        """Return whether its owner has unlinked it from this mate."""
        return self.parted is not None and self.parted[:2] == (peer, mate)

    @property
    def claims(self) -> bool:
        """Whether this domain claims the nodes of the job's slot when that comes, and starts the others."""
        return self.proposes or (self.group is not None and self.group.by_slots_only)

    def about(self, peer: Domain) -> Detail:
        """Return which of the others is meant, for the job's story; a pair has one other."""
        return {} if self.group is not None and self.group.is_pair else {"peer": peer}

    @property
    def named(self) -> Named:
        """The mate, or the group, that it names; the id of a mate may have been learnt. NO_MATE: it names nobody."""
        return NO_MATE if self.group is None else self.group.as_named


def membership(job: PairedJob) -> Membership:
    """What a job that starts with others knows of them."""
    assert job.group is not None
    return job.group


def always(_job: JobId, _now: int) -> bool:
    """All jobs may hold."""
    return True


@dataclass
class Ledger:
    """The paired jobs of the policy domain `domain` of `nodes` nodes. `story`: whether Record effects are wanted.

    `known_as`: the name of a job by which the jitter of its holds is drawn. `may_hold`: whether a job may begin
    a hold now, by the site's budgets. `from_wall`: an instant of the wall clock as this domain counts its time.
    `calls_before`: added to the numbers of calls; it grows with each restart, so no number is used twice.
    """

    domain: Domain
    nodes: int
    settings: CoschedulingSettings
    story: bool = True
    known_as: Callable[[JobId], str] = str
    may_hold: Callable[[JobId, int], bool] = always
    from_wall: Callable[[int], int] = int
    calls_before: int = 0
    jobs: dict[JobId, PairedJob] = field(default_factory=dict)
    changed: dict[JobId, None] = field(default_factory=dict)  # jobs that may have changed, in order
    moved: dict[JobId, JobState] = field(default_factory=dict)  # jobs that run, or run no more; their states before
    wanted: dict[JobId, None] = field(default_factory=dict)  # members of groups in which others hold, or held
    telling: dict[JobId, None] = field(default_factory=dict)  # jobs with news that others have not acknowledged
    held_nodes: int = 0
    booked: dict[JobId, int] = field(default_factory=dict)  # nodes that members keep for proposals, without a hold
    cap: int = 0  # nodes that may be held at once
    now: int = field(default=0, compare=False)  # the instant of the present event, or of one that was refused
    settled_by: int | None = None  # this domain drains, and holds last until then at most; None: it does not

    def __post_init__(self) -> None:
        self.slot_use = SlotUse(self.nodes)
        self.configure(self.settings)

    def configure(self, settings: CoschedulingSettings) -> None:
        """Follow other settings from now on; holds in force keep their release times."""
        self.settings = settings
        self.enabled = settings.enabled
        self.continues = settings.on_member_requeued is CONTINUE  # so do jobs whose terms say nothing else
        self.cap = holds.held_node_cap(settings, self.nodes)
        self._slot_share = Fraction(settings.slot_share)

    def kept_beside(self, job: JobId) -> int:
        """Return how many nodes all other jobs hold, or keep for proposals."""
        if not self.booked:
            return self.held_nodes
        return self.held_nodes + sum(nodes for id, nodes in self.booked.items() if id != job)

    def gives_slot(self, job: PairedJob) -> bool:
        """Return whether the job may have a slot here. One that it has already may always move earlier."""
        may = self.slot_use.may_have_slot
        share = self._slot_share
        return self.settings.slots and (job.slot is not None or may(job.peers, job.owner, share, self.now))

    def next_slot(self, job: PairedJob) -> int:
        """Return from when on the job may have a slot, after what earlier slots of its owner have kept."""
        return self.slot_use.next_slot(job.peers, job.owner, self.now)

    def count_slot(self, job: PairedJob, *, ended: bool) -> None:
        """Count how long the job's slot has kept nodes that were free for it, up to now."""
        assert job.slot is not None
        since = self.now if job.fits_since is None else job.fits_since
        if ended:
            since = min(since, job.slot)  # they are its own from then on
        job.fits_since = None
        kept = job.nodes * max(0, self.now - since)
        job.slot_node_seconds += kept
        in_vain = ended and job.state is not JobState.RUNNING
        weighed = kept * (IN_VAIN if in_vain else 1)
        self.slot_use.count(job.peers, job.owner, weighed, self._slot_share, self.now)

    @property
    def settling_end(self) -> int:
        """Until when holds may last at most, because this domain drains."""
        return FOREVER if self.settled_by is None else self.settled_by

    def request_id(self, job: PairedJob) -> str:
        """Return the id of the job's next mutating call."""
        job.calls += 1
        return f"{self.domain}/{job.id}/{self.calls_before + job.calls}"

    def given_instant(self, job: PairedJob) -> int | None:
        """Return the common instant of the job's group, if that is given."""
        at = None if job.group is None else job.group.at
        return None if at is None else self.from_wall(at)

    def passed_from(self, job: PairedJob) -> int | None:
        """From when on the given instant of the job's group has passed: not all members can start in time any more."""
        instant = self.given_instant(job)
        return None if instant is None or job.group is None else instant + job.group.first_end + 1

    def note(self, job: PairedJob, what: What, why: Why | None = None, **detail: Unpack[Detail]) -> list[Effect]:
        """What happened to a job, for its story."""
        return [Record(job.id, what, why, detail)] if self.story else []
