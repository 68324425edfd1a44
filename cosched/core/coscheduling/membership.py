"""What a job knows of those with which it starts, and how far their start has come. A pair is a group of two."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from cosched.core.job import JobState
from cosched.core.kept import Beside, Kept, Transient
from cosched.core.protocol import (
    NO_TERMS,
    Domain,
    Failure,
    GetMateJobId,
    GetMember,
    JobId,
    Lookup,
    MateJobId,
    MateStatus,
    Named,
    ProposeGroupStart,
    Request,
    SettleGroupStart,
    Status,
    Terms,
    Window,
)

Known = TypeVar("Known")


class _Nothing(dict[Any, Any]):
    """An empty mapping that all share: most jobs never need most of what a Membership has."""

    __slots__ = ()
    __hash__ = object.__hash__  # type: ignore[assignment]  # so that fields may have it as their default


GONE = (Status.ENDED, Status.CANCELLED, Status.FAILED, Status.UNKNOWN)
NOTHING: dict[Any, Any] = _Nothing()
NOBODY: Set[Domain] = frozenset()


class Lost(NamedTuple):
    """A member that has ended before any started: how long another in its place is waited for, and held for."""

    job: JobId
    until: int
    hold_until: int


class Heard(NamedTuple):
    """The last number by which the domain of a member has told that this job of its own has changed."""

    caller: JobId
    number: int


class Bond(NamedTuple):
    """What another member does when others end: see Terms."""

    ends_with: tuple[Domain, ...]
    fail_together: bool


@dataclass(slots=True)
class Proposal:
    """A start that the job proposes to the other members."""

    since: Kept[int]
    requests: Kept[dict[Domain, ProposeGroupStart]]  # by whom they are asked
    booked: Transient[set[Domain]] = field(default_factory=set)
    start_at: Transient[float | None] = None  # the latest of the members' earliest instants

    @property
    def name(self) -> str:
        """By which all members know it."""
        return next(iter(self.requests.values())).request_id

    @property
    def slot(self) -> str:
        """The name of the slot at which it is; empty: it is at none."""
        return next(iter(self.requests.values())).slot


@dataclass(slots=True)
class Agreement:
    """The search for an instant at which all members can start; round after round all others are asked for one."""

    refuser: Domain  # who could not start now
    since: int  # when this round began
    instant: int  # the group's common instant, as far as it is known that none can be earlier
    at: int = 0  # when our job starts
    rounds: int = 0
    planning: bool = True  # our scheduler looks for an instant, or books it
    requests: dict[Domain, ProposeGroupStart] = field(default_factory=dict)  # of this round
    told: dict[Domain, int] = field(default_factory=dict)  # the earliest instants of the others
    booked: int = 0  # how many of them have booked theirs

    @property
    def books(self) -> bool:
        """Whether all others have booked their instants, so that it is our scheduler's turn to do so."""
        return 0 < self.booked == len(self.requests)

    @property
    def told_as_asked(self) -> bool:
        """Whether all others could start at the very instants from which on they were asked."""
        return all(self.told.get(peer) == request.not_before for peer, request in self.requests.items())

    @property
    def name(self) -> str:
        """The name of the slot that this round may book."""
        return next(iter(self.requests.values())).request_id

    def awaits(self, peer: Domain, request: Request) -> bool:
        """Return whether this round still awaits the answer to this request. A copy of an answer does not count."""
        return self.requests.get(peer) == request and peer not in self.told


@dataclass(slots=True)
class Promise:
    """The proposal by which the job's nodes are kept, and what the job was before."""

    proposal: Kept[str]
    proposer: Kept[Domain]
    caller: Kept[JobId]
    was: Kept[JobState]
    since: Kept[int]
    until: Kept[int]  # when the lease ends
    release_due: Kept[bool] = False  # its hold was to end meanwhile
    asked: Kept[bool] = False  # its lease is over, and the outcome was asked for since this domain was started


@dataclass(slots=True)
class Membership:
    """The pair or group that a job names: one job on each of its `domains`, in order; `others`: all but its own."""

    name: Beside[str]  # empty: a pair whose jobs are named by their ids
    domains: Beside[tuple[Domain, ...]]
    others: Beside[tuple[Domain, ...]]
    or_alone: Kept[bool] = False
    is_pair: Beside[bool] = False  # its jobs name each other as mates: what they ask is spoken as Algorithm 1
    windows: Kept[Mapping[Domain, tuple[int, int]]] = NOTHING  # those that are not [0, 0]
    at: Kept[int | None] = None  # the common instant that is given, by the wall clock
    jobs: Beside[dict[Domain, JobId]] = field(default_factory=dict)  # the other members, as far as they are known
    ids: Kept[Mapping[Domain, JobId]] = NOTHING  # those that are named by their ids and have not been heard of
    question: Transient[Lookup | None] = None  # which job its mate is, as a pair has asked since the mate is known
    asked: Transient[dict[Domain, Request]] = NOTHING  # the questions of this RunJob that are open
    told: Transient[dict[Domain, MateStatus | MateJobId | Failure]] = NOTHING  # what came of the others
    unanswered: Transient[Set[Domain]] = NOBODY  # who gave no answer to the last call
    again: Transient[Mapping[Domain, None]] = NOTHING  # whom to ask again when the retry timer is due
    without: Kept[tuple[Domain, ...]] = ()  # whose members the job goes on without
    proposal: Kept[Proposal | None] = None
    promise: Kept[Promise | None] = None
    kept_until: Kept[int] = 0  # how long its nodes may be kept for proposals, however many; then others have their turn
    agreement: Transient[Agreement | None] = None
    in_vain: Transient[int] = 0  # proposals that were refused, as far as they count for the next pause
    pauses_until: Transient[int] = 0  # until when the job leaves nodes that it is given to others
    slot: Kept[str] = ""  # the name of its slot: that of the proposal by which the others have booked it
    instant: Kept[int | None] = None  # the common instant of the slot, if the group starts by slots only
    keeping: Transient[Mapping[Domain, SettleGroupStart]] = NOTHING  # who has not heard that we keep it
    started_by: Kept[str] = ""  # the proposal by which the group has started
    held_by: Kept[Mapping[Domain, int]] = NOTHING  # until when the others hold, as they say
    void: Kept[Mapping[Domain, int]] = NOTHING  # its proposals up to this number are dropped
    terms: Kept[Terms] = NO_TERMS  # what it does when others end, or are queued again
    bonds: Kept[Mapping[Domain, Bond]] = NOTHING  # what others do, as far as they do anything
    bound: Kept[tuple[Domain, ...]] = ()  # whose domains have heard what this one does
    lost: Kept[Mapping[Domain, Lost]] = NOTHING  # those that have ended before any started
    heard: Kept[Mapping[Domain, Heard]] = NOTHING
    know_of_start: Kept[tuple[Domain, ...]] = ()  # others that know that the job has started, by a call or an answer
    claimed: Transient[Mapping[Domain, bool]] = NOTHING  # other jobs want the place of that member; whether it lives
    checks: Transient[Mapping[Domain, Request]] = NOTHING  # what is asked of others while the job holds, or runs

    @classmethod
    def named(cls, domain: Domain, named: Named | None) -> Membership | None:
        """Return that of a new job on `domain`; None: it names nobody."""
        if named is None or not named.others[0]:
            return None
        group = cls.of(domain, named.others, named.name, named.is_pair)
        group.or_alone, group.at, group.terms = named.or_alone, named.at, named.terms
        if named.windows:
            group.windows = {window.domain: (window.earliest, window.latest) for window in named.windows}
        if named.ids and named.is_pair:
            group.jobs = dict(named.ids)
        elif named.ids:
            group.ids = dict(named.ids)
        return group

    @classmethod
    def of(cls, domain: Domain, others: tuple[Domain, ...], name: str, is_pair: bool) -> Membership:
        """Return that of a job on `domain`, with jobs on these others."""
        domains = tuple(sorted((domain, *others)))
        return cls(name, domains, others if is_pair else tuple(sorted(others)), is_pair=is_pair)

    @property
    def as_named(self) -> Named:
        """How the job names the others; the id of a mate may have been learnt."""
        ids, windows = (self.jobs if self.is_pair else self.ids).items(), self.named_windows if self.windows else ()
        return Named(self.others, self.name, tuple(ids), self.or_alone, self.is_pair, windows, self.at, self.terms)

    @property
    def own(self) -> Domain:
        """The domain of the job itself."""
        return next(domain for domain in self.domains if domain not in self.others)

    @property
    def by_slots_only(self) -> bool:
        """Whether the group has windows or a given instant: then its members start by an agreement only."""
        return bool(self.windows) or self.at is not None

    @property
    def first_end(self) -> int:
        """The end of the window that ends first."""
        return min(self.window(domain)[1] for domain in self.domains)

    def window(self, domain: Domain) -> tuple[int, int]:
        """When the member there starts, in seconds after the group's common instant: from the first to the second."""
        return self.windows.get(domain, (0, 0))

    def misses_window(self, domain: Domain, instant: int | None, at: int) -> bool:
        """Return whether the member there would start too late, if the group has windows around this common instant."""
        return instant is not None and at > instant + self.window(domain)[1]

    @property
    def named_windows(self) -> tuple[Window, ...]:
        """The windows, as messages have them."""
        return tuple(Window(domain, *self.windows[domain]) for domain in self.domains if domain in self.windows)

    def is_later(self, slot: int | None, at: int) -> bool:
        """Return whether a member that has this slot would get a later one. Slots may only move earlier."""
        return self.by_slots_only and slot is not None and at > slot

    @property
    def keeps_slot(self) -> bool:
        """Whether the member keeps its slot whatever others say: the group begins, or has begun, by slots only."""
        return self.by_slots_only and (self.has_begun or self.promise is not None)

    @property
    def has_begun(self) -> bool:
        """Whether the members start by a decision: this one has started, or has its slot for good."""
        return bool(self.started_by)

    def know(self, peer: Domain, job: JobId) -> None:
        """That member is this job, which may replace one that has ended."""
        if self.jobs.get(peer, job) != job:
            self.void = all_but(peer, self.void)  # each job counts its own proposals
            self.held_by = all_but(peer, self.held_by)
            self.lost, self.heard = all_but(peer, self.lost), all_but(peer, self.heard)
            self.bonds, self.claimed = all_but(peer, self.bonds), all_but(peer, self.claimed)
            self.bound = tuple(other for other in self.bound if other != peer)
        self.jobs[peer], self.question = job, None
        self.ids = all_but(peer, self.ids)

    # What members do when others end

    def bind(self, peer: Domain) -> None:
        """The domain there has heard what the job does when that member ends."""
        if self.terms.follows(peer) and peer not in self.bound:
            self.bound = (*self.bound, peer)

    def is_bound(self, peer: Domain) -> bool:
        """Return whether it has heard so, if there is something to hear."""
        return peer in self.bound or not self.terms.follows(peer)

    def closes_circle(self, peer: Domain, ends_with: tuple[Domain, ...]) -> bool:
        """Return whether members would end with each other in a circle, if the one there ended with these."""
        ends = {domain: bond.ends_with for domain, bond in self.bonds.items()}
        ends |= {self.own: self.terms.ends_with, peer: ends_with}
        reached, left = set[Domain](), [*ends_with]
        while left and peer not in reached:
            domain = left.pop()
            if domain not in reached:
                reached.add(domain)
                left += ends.get(domain, ())
        return peer in reached

    def lookup(self, caller: JobId, owner: str, peer: Domain) -> Lookup:
        """Return the question which job there starts with this one, as which its owner knows it."""
        terms = self.terms
        if self.is_pair:
            mate, name = self.jobs.get(peer), self.name or None
            return GetMateJobId(caller, name, mate, owner, terms.ends_with, terms.fail_together)
        windows, member = self.named_windows, self.ids.get(peer)
        return GetMember(
            caller, self.name, self.domains, owner, windows, self.at, member, terms.ends_with, terms.fail_together
        )  # fmt: skip

    def make_void(self, peer: Domain, number: int) -> None:
        """That member's proposals up to this number are dropped."""
        self.void = {**self.void, peer: max(number, self.void.get(peer, 0))}

    @property
    def partners(self) -> list[Domain]:
        """The others with which the job starts."""
        return [peer for peer in self.others if peer not in self.without]

    @property
    def ended(self) -> tuple[Domain, ...]:
        """The others that have ended, or are unknown, by their last answers."""
        if not self.told:
            return ()
        told = self.told.items()
        return tuple(peer for peer, said in told if isinstance(said, MateStatus) and said.status in GONE)

    @property
    def is_starting(self) -> bool:
        """Whether a start is proposed or agreed on, or some have started."""
        return bool(self.proposal or self.promise or self.agreement or self.slot or self.started_by)

    def awaited(self, now: int) -> list[Lost]:
        """Return the lost members in whose places others may still come."""
        return [lost for lost in self.lost.values() if now < lost.until]

    @property
    def lacks_some(self) -> bool:
        """Whether some of the others are not known by their ids: they may not be submitted yet."""
        return len(self.jobs) < len(self.others)

    @property
    def rank(self) -> int:
        """By which groups that wait for each other are put in order. Any order will do that all domains have."""
        return 1 + zlib.crc32("/".join((self.name, *self.domains)).encode())

    @property
    def wanted_until(self) -> int:
        """Until when another member holds; 0: none does."""
        return max(self.held_by.values(), default=0)


def all_but(peer: Domain, known: Mapping[Domain, Known]) -> Mapping[Domain, Known]:
    """Return what is known of all others."""
    return {other: value for other, value in known.items() if other != peer}
