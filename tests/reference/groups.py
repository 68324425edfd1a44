"""groups.md: jobs of more than two domains that start together. Comments quote that page.

In a simulation calls are answered at once and nothing is lost: no job is ready while another asks, none is booked by
two, and leases do not end (rule 5). Rules 1 to 3, 6 and 8 remain.
"""

import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from . import coschedule, order
from .iteration import MayHold, Taken
from .state import Entry


@dataclass(eq=False)
class Group:
    """The jobs of a group, of which those in domains without coscheduling are no members."""

    name: str
    members: list[Entry] = field(repr=False)
    turn: int
    seen: Counter[str] = field(default_factory=Counter)  # what happened to it, to count in tests

    def others(self, j: Entry) -> list[Entry]:
        return [k for k in self.members if k is not j]


def link(name: str, entries: Sequence[Entry]) -> None:
    """Make a group of these jobs, if two of their domains coschedule at least."""
    names = sorted(e.domain.config.name for e in entries)
    assert len(set(names)) == len(entries) > 2
    # "The group with the lower crc32("NAME/DOMAIN/DOMAIN/...") comes first, domains in alphabetical order"
    turn = zlib.crc32("/".join((name, *names)).encode())
    members = [e for e in entries if e.domain.config.scheme != "off"]
    group = Group(name, sorted(members, key=lambda e: e.domain.config.name), turn)
    if len(group.members) > 1:
        for entry in group.members:
            assert entry.mate is entry.group is None
            entry.group = group


def run_job(j: Entry, place: object, may_hold: MayHold, now: int) -> Taken | None:
    """Start j, which is ready on `place`, with all others of its group; else it holds or yields."""
    if j.ready is None:
        j.ready = now
    places = propose(j, now)
    if places is not None:  # "All have said yes: [...] j starts."
        for k, k_place in places.items():
            k.domain.start(k, k_place, now)
        j.group.seen["started"] += 1
        return coschedule.start(j, place, now)
    if would_hold(j, may_hold, now):
        release = coschedule.hold_release(j, now)
        j.domain.hold(j, place, now, release)
        j.has_asked = all(k.status != "unsubmitted" for k in j.group.members)
        j.group.seen["holds"] += 1
        return Taken(until=release, claim=release + j.job.requested)
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
