"""A domain at one instant: which of its jobs queue, hold, run."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from . import blocks, flat
from .model import RefDomain, RefJob

if TYPE_CHECKING:
    from .groups import Group


class Slot(NamedTuple):
    """An instant that two domains have agreed upon, and what this job has from then on."""

    at: int
    place: object
    generation: int


@dataclass(eq=False)
class Entry:
    """One job and all that has happened to it."""

    domain: "DomainState" = field(repr=False)
    job: RefJob
    index: int  # trace order
    nodes: int  # as the machine gives them out: rounded up on a partitioned one
    mate: "Entry | None" = field(default=None, repr=False)
    group: "Group | None" = field(default=None, repr=False)  # of more than two
    status: str = "unsubmitted"  # queuing, holding, running, ended
    place: object = None  # flat: a number of nodes; partitioned: a block
    ready: int | None = None
    start: int | None = None
    yields: int = 0
    holds: int = 0
    has_asked: bool = False  # for all others of its group, before it began to hold
    hold_began: int = 0
    release: float = math.inf  # of the hold in force
    wanted_until: float = -math.inf
    held_node_seconds: int = 0
    wanted: bool = False  # "A job for which a mate has asked is wanted at its own domain for good"
    guard: int | None = None  # "the latest instant to which wanted jobs may push its reservation"
    slot: Slot | None = None
    slot_generation: int = 0

    def is_alone(self) -> bool:
        return self.mate is None and self.group is None

    def keeps_slot(self) -> bool:
        # "From the first start on the slots of the others are fixed: no move, no early start."
        return self.slot is not None and self.group is not None and self.group.has_begun()


class DomainState:
    def __init__(self, config: RefDomain) -> None:
        self.config = config
        self.entries = self._entries()
        self.unsubmitted = list(self.entries)
        self.queue: list[Entry] = []
        self.running: list[Entry] = []
        self.holding: list[Entry] = []
        self.yielded: set[Entry] = set()  # at this instant
        self.released: set[Entry] = set()  # at this instant
        self.changed = False

    def _entries(self) -> list[Entry]:
        in_trace_order = sorted(self.config.jobs, key=lambda job: job.submit)
        entries = [Entry(self, job, index, self._size(job)) for index, job in enumerate(in_trace_order)]
        for entry in entries:
            assert 1 <= entry.job.run <= entry.job.requested, entry
            assert 1 <= entry.nodes <= self.config.nodes, entry
        return entries

    def _size(self, job: RefJob) -> int:
        if self.config.layout is None:
            return job.nodes
        units, unit_nodes = self.config.layout
        assert units * unit_nodes == self.config.nodes
        return blocks.rounded_up(job.nodes, units, unit_nodes)

    def end_of(self, entry: Entry) -> int:
        """Say when a job ends, or has ended, that has started."""
        return entry.start + entry.job.run

    def pool(self) -> "flat.Pool | blocks.Pool":
        """Build the nodes afresh, with those who have them and until when they are expected to."""
        # "Running jobs are expected to end at their start plus their requested time"; "For
        # backfilling, held nodes are expected back at the release; with the timer off they are not expected back".
        taken = [(e.place, e.start + e.job.requested) for e in self.running]
        taken += [(e.place, e.release) for e in self.holding]
        if self.config.layout is None:
            return flat.Pool(self.config.nodes, taken)
        return blocks.Pool(*self.config.layout, taken)

    def profile(self, now: int, without: Entry | None = None) -> "flat.Plan | blocks.Plan":
        # "free now, plus running jobs at start + requested, plus holds at their release, less [slot, slot + requested)
        # x nodes of every queued job that has a slot"
        plan = self.pool().plan(now)
        for entry in self.queue:
            if entry.slot is not None and entry is not without:
                plan.occupy(entry.slot.place, entry.slot.at, entry.slot.at + entry.job.requested)
        return plan

    def held_nodes(self) -> int:
        return sum(e.nodes for e in self.holding)

    def submit(self, entry: Entry) -> None:
        self.unsubmitted.remove(entry)
        self.queue.append(entry)
        entry.status = "queuing"
        self.changed = True

    def start(self, entry: Entry, place: object, now: int) -> None:
        if entry.status == "holding":
            self._end_hold(entry, now)
        else:
            self.queue.remove(entry)
        self.running.append(entry)
        entry.status, entry.place, entry.start, entry.slot = "running", place, now, None
        if entry.ready is None:  # "started by its mate before that"
            entry.ready = now
        self.changed = True

    def hold(self, entry: Entry, place: object, now: int, release: float) -> None:
        self.queue.remove(entry)
        self.holding.append(entry)
        entry.status, entry.place = "holding", place
        entry.holds += 1
        entry.hold_began, entry.release = now, release
        self.changed = True

    def give_way(self, entry: Entry) -> None:
        # "A change is a start or a hold [...]; a yield or a refused TryStartMate is none."
        entry.yields += 1
        self.yielded.add(entry)

    def book(self, entry: Entry, at: int, place: object) -> None:
        """Give a job its slot, in place of the one that it has."""
        entry.slot_generation += 1
        entry.slot = Slot(at, place, entry.slot_generation)
        self.changed = True

    def release(self, entry: Entry, now: int) -> None:
        self._end_hold(entry, now)
        self.queue.append(entry)
        self.released.add(entry)
        if entry.group is not None:
            entry.group.seen["released"] += 1
        entry.status, entry.place = "queuing", None
        self.changed = True

    def _end_hold(self, entry: Entry, now: int) -> None:
        self.holding.remove(entry)
        entry.held_node_seconds += entry.nodes * (now - entry.hold_began)

    def complete(self, entry: Entry) -> None:
        self.running.remove(entry)
        entry.status, entry.place = "ended", None
        self.changed = True
