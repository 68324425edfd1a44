"""coscheduling.md: jobs of more than two domains that start together. Comments quote that page.

In a simulation calls are answered at once and nothing is lost: no job is ready while another asks, none is booked by
two, and leases do not end (rule 5). Rules 1 to 3, 6 and 7 remain, and slots.
"""

import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from . import coschedule, order
from .iteration import MayHold, Taken
from .planned import Plan
from .slots import ROUNDS, earliest, first_instant, plan_ahead_of
from .state import Entry

Window = tuple[int, int]
Answers = dict[Entry, tuple[int, object]]  # when and where each member fits


@dataclass(eq=False)
class Group:
    """The jobs of a group, of which those in domains without coscheduling are no members."""

    name: str
    windows: Mapping[Entry, Window] = field(repr=False)  # of each member, "relative to the group's common instant T"
    turn: int
    at: int | None = None  # T, if it is given: "a fixed instant is a member without a cluster"
    instant: int | None = None  # T, once it is agreed
    seen: Counter[str] = field(default_factory=Counter)  # what happened to it, to count in tests

    @property
    def members(self) -> list[Entry]:
        return list(self.windows)

    def others(self, j: Entry) -> list[Entry]:
        return [k for k in self.members if k is not j]

    def by_slots_only(self) -> bool:
        return self.at is not None or any(window != (0, 0) for window in self.windows.values())

    def passed_from(self) -> int:
        """The first instant at which some member is too late for its window."""
        return self.at + min(last for _, last in self.windows.values()) + 1

    def has_begun(self) -> bool:
        return any(k.start is not None for k in self.members)


def link(name: str, windows: Mapping[Entry, Window], at: int | None = None) -> None:
    """Make a group of these jobs, if two of their domains coschedule at least."""
    names = sorted(e.domain.config.name for e in windows)
    assert len(set(names)) == len(windows) > 1
    # "The group with the lower crc32("NAME/DOMAIN/DOMAIN/...") comes first, domains in alphabetical order"
    turn = zlib.crc32("/".join((name, *names)).encode())
    members = [e for e in windows if e.domain.config.scheme != "off"]
    members.sort(key=lambda e: e.domain.config.name)
    group = Group(name, {e: windows[e] for e in members}, turn, at)
    if group.by_slots_only():
        assert all(e in members and e.domain.config.slots for e in windows), "windows need slots in all domains"
    if len(members) > 1:
        for entry in members:
            assert entry.mate is entry.group is None
            entry.group = group


def run_job(j: Entry, place: object, may_hold: MayHold, now: int, plan: Plan = None) -> Taken | None:
    """Start j, which is ready on `place`, with all others of its group; else it holds or yields, perhaps with a slot.

    With windows, or at a given instant, it never starts so, only by an agreement.
    """
    if j.ready is None:
        j.ready = now
    if j.group.at is not None and j.slot is None and now >= j.group.passed_from():
        j.group.seen["passed"] += 1
        j.domain.give_way(j)  # "its jobs wait for what their owner does"
        return None
    places = None if j.group.by_slots_only() else propose(j, now)
    if places is not None:  # "All have said yes: [...] j starts."
        for k, k_place in places.items():
            k.domain.start(k, k_place, now)
        return coschedule.start(j, place, now)
    if would_hold(j, may_hold, now):
        release = coschedule.hold_release(j, now)
        j.domain.hold(j, place, now, release)
        j.has_asked = all(k.status != "unsubmitted" for k in j.group.members)
        j.group.seen["holds"] += 1
        return Taken(until=release, claim=release + j.job.requested)
    if all_plan(j) and agree(j, plan, now, place):
        return coschedule.start(j, place, now)
    j.domain.give_way(j)
    return None


def propose(j: Entry, now: int) -> dict[Entry, object] | None:
    """Ask all others for their nodes; None if one of them says no: a drop leaves each as it was."""
    others = j.group.others(j)
    # "If all hold, are ready or queue, it proposes a start to each, at the same time."
    if any(k.status == "unsubmitted" for k in others):
        return None
    places = {}
    for k in others:
        # "those who come after a no hear of the drop first, and are not asked"
        places[k] = answer(k, now)
        if places[k] is None:  # "One has said no: the drop is recorded and sent, and j holds or yields."
            j.group.seen["refused"] += 1
            return None
    return places


def answer(k: Entry, now: int) -> object | None:
    """Answer with the nodes that k has promised: it holds them, or it "queues and would start now"."""
    assert k.status in ("holding", "queuing"), "without faults no member has started alone"
    if k.status == "holding":
        return k.place
    k.wanted = True  # for a `mate_budget`: "until a proposal has reached them"
    return coschedule.place_in_dry_run(k, now)


def would_hold(j: Entry, may_hold: MayHold, now: int) -> bool:
    if not coschedule.would_hold(j, may_hold, now):
        return False
    if gives_way(j, now):
        j.group.seen["gave way"] += 1
        return False
    return True


def gives_way(j: Entry, now: int) -> bool:
    # "A member gives way to another group that has a wanted member in the same domain (rule 6), also if that one holds
    # there; it yields, even at its yield limit."
    waiting = [*j.domain.queue, *j.domain.holding]
    return any(k.group is not None and k.group.turn < j.group.turn and order.is_wanted(k, now) for k in waiting)


# Slots


def all_plan(j: Entry) -> bool:
    """Answer whether an agreement follows a start of j that was refused."""
    # "j's domain and those of all other members have `slots`; [...] every other member queues and has been ready once"
    if not all(k.domain.config.slots for k in j.group.members):
        return False
    return all(k.status == "queuing" and k.ready is not None for k in j.group.others(j))


def agree(j: Entry, plan: Plan, now: int, place: object | None = None) -> bool:
    """Agree on a slot for each member, earlier ones if they have some; answer whether j starts now by that.

    `plan` is the profile of j's turn without its own slot; `place` is where j would start now.
    """
    answers = common_instant(j, plan, now, place)
    for k, (at, k_place) in (answers or {}).items():
        k.domain.book(k, at, k_place)
        if at == now and k is not j:  # "Agreed on now: all start (a start, no yield)."
            k.domain.start(k, k_place, now)
    return answers is not None and answers[j][0] == now


def common_instant(j: Entry, plan: Plan, now: int, place: object | None) -> Answers | None:
    """Find the group's instant T, and note it; say when and where each member starts then."""
    group = j.group
    plans = {k: plan if k is j else plan_ahead_of(k, now) for k in group.members}
    instant = now if group.at is None else group.at
    for _ in range(ROUNDS):
        if group.instant is not None and instant >= group.instant:
            return None  # "given up as soon as T is not before the present T"
        answers = {k: answer_round(k, plans[k], instant, now, place if k is j else None) for k in group.members}
        if any(at is None or moves_later(k, at) for k, (at, _) in answers.items()):
            return None
        least = max(least_instant(k, at) for k, (at, _) in answers.items())
        if least <= instant:  # "All s_i <= T + hi_i: agreed, each is booked at its s_i."
            group.seen["slots" if group.instant is None else "moves"] += 1
            group.instant = instant
            return answers
        if group.at is not None:
            return None  # "T never changes: all have slots for it, or none"
        instant = least
    return None


def answer_round(k: Entry, plan: Plan, instant: int, now: int, place: object | None) -> tuple[int | None, object]:
    # "the earliest instant >= max(now, T + lo_i) at which it fits"; j's "first: now, on the nodes of its RunJob, if
    # those are free in the profile"
    not_before = instant + k.group.windows[k][0]
    return first_instant(k, plan, now, place) if not_before <= now else earliest(plan, k, not_before)


def least_instant(k: Entry, at: int) -> int:
    # "Else T = the largest s_i - hi_i of those that are late"
    return at - k.group.windows[k][1]


def moves_later(k: Entry, at: int) -> bool:
    # "A slot never moves later."
    return k.slot is not None and at > k.slot.at
