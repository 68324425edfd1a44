"""Wrong definitions of order, backfilling, node pools and traces, to put in the place of the slow simulator's own."""

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

from tests.reference import RefDomain, RefJob, blocks, flat, iteration, order, state, world

from . import slowly
from .slowly import Line

right_iterate = iteration.iterate
right_clean = slowly.clean
right_times = slowly.times
right_read_domain = slowly.read_domain

# Order of the queue


def entries_by_id(domain: state.DomainState) -> list[state.Entry]:
    jobs = sorted(domain.config.jobs, key=lambda job: job.submit)
    return [state.Entry(domain, job, job.job_id, domain._size(job)) for job in jobs]


def entries_in_file_order(domain: state.DomainState) -> list[state.Entry]:
    """A job further down cannot be submitted before one further up."""
    latest, entries = 0, []
    for index, job in enumerate(domain.config.jobs):
        latest = max(latest, job.submit)
        entries.append(state.Entry(domain, replace(job, submit=latest), index, domain._size(job)))
    return entries


def entries_past_their_requests(domain: state.DomainState) -> list[state.Entry]:
    jobs = sorted(domain.config.jobs, key=lambda job: job.submit)
    return [state.Entry(domain, job, index, domain._size(job)) for index, job in enumerate(jobs)]


def with_wfp(score: object) -> dict[str, object]:
    return {**order.POLICIES, "wfp": score}


def linear_wfp(wait: int, requested: int, nodes: int) -> float:
    return wait / requested * nodes


def exact_wfp(wait: int, requested: int, nodes: int) -> Fraction:
    return Fraction(wait, requested) ** 3 * nodes


class EventByEvent(world.World):
    """Iterates after the completions of an instant and after each submission, not once all are known."""

    def _completions(self) -> None:
        super()._completions()
        self._iterations()

    def _submissions(self) -> None:
        for domain in self.domains:
            while domain.unsubmitted and domain.unsubmitted[0].job.submit == self.now:
                domain.submit(domain.unsubmitted[0])
                self._iterations()


# Backfilling


def first_fit(domain: state.DomainState, ordered: list[state.Entry], _now: int, attempt: iteration.Attempt) -> None:
    pool = domain.pool()
    for entry in ordered:
        place = pool.fit(entry.nodes)
        if place is not None and (taken := attempt(entry, place, lambda _release: True)):
            pool.occupy(place, taken.until)


class StrictReservation(flat.Reservation):
    def offer(self, pool: flat.Pool, nodes: int, end: int) -> int | None:
        return super().offer(pool, nodes, end + 1)


class StrictBlock(blocks.Reservation):
    def offer(self, pool: blocks.Pool, nodes: int, end: int) -> blocks.Block | None:
        return super().offer(pool, nodes, end + 1)


class NoExtra(flat.Reservation):
    def __init__(self, shadow: float, _extra: int) -> None:
        super().__init__(shadow, 0)


class EndlessExtra(flat.Reservation):
    def charge(self, nodes: int, claim: float) -> None:
        pass


class OneIteration(world.World):
    """One iteration of a domain at an instant, which hides nothing of what that iteration did."""

    def _iterations(self) -> None:
        for domain in self.domains:
            if domain.changed:
                domain.changed = False
                self._iterate(domain)


class ExtraUsedByAll(flat.Reservation):
    def charge(self, nodes: int, _claim: float) -> None:
        super().charge(min(nodes, self.extra), math.inf)


class NothingWithoutShadow(flat.Reservation):
    def __init__(self, shadow: float, extra: int) -> None:
        super().__init__(-math.inf if shadow == math.inf else shadow, extra)


def reserve_with_the_first_that_suffice(pool: flat.Pool, nodes: int) -> flat.Reservation:
    free = pool.free
    for count, until in sorted(pool.taken, key=lambda taken: taken[1]):
        free += count
        if free >= nodes and until < math.inf:
            return flat.Reservation(until, free - nodes)
    return flat.Reservation(math.inf, 0)


class KeptShadow:
    """The shadow time and the extra nodes of a job stay what they were when it was first reserved."""

    def __init__(self) -> None:
        self._kept: dict[str, dict[int, tuple[float, int]]] = {}

    def __call__(self, domain: state.DomainState, ordered: list[state.Entry], now: int, attempt) -> None:
        if domain.config.backfill != "easy" or domain.config.layout is not None:
            right_iterate(domain, ordered, now, attempt)
            return
        pool = domain.pool()
        head = iteration.start_from_front(pool, ordered, attempt)
        if head == len(ordered):
            return
        right = pool.reserve(ordered[head].nodes)
        kept = self._kept.setdefault(domain.config.name, {})
        first = kept.setdefault(ordered[head].job.job_id, (right.shadow, right.extra))
        with patch.object(pool, "reserve", lambda _nodes: flat.Reservation(*first)):
            iteration.walk_easy(pool, ordered[head:], now, attempt)


class StickyReservation:
    """The reserved job stays the first of the queue until it has started."""

    def __init__(self) -> None:
        self._reserved: dict[str, state.Entry | None] = {}

    def __call__(self, domain: state.DomainState, ordered: list[state.Entry], now: int, attempt) -> None:
        reserved = self._reserved.get(domain.config.name)
        if reserved in ordered:
            ordered = [reserved, *(entry for entry in ordered if entry is not reserved)]
        right_iterate(domain, ordered, now, attempt)
        if reserved not in domain.queue:
            waiting = [e for e in ordered if e in domain.queue and domain.pool().fit(e.nodes) is None]
            self._reserved[domain.config.name] = waiting[0] if waiting else None


class KeptPlan(world.World):
    """Conservative backfilling that plans each job once, when it is submitted, and never moves it forward."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._begin: dict[state.Entry, float] = {}

    def _event_times(self) -> Iterator[float]:
        yield from super()._event_times()
        yield from (begin for entry, begin in self._begin.items() if entry.start is None and begin > self.now)

    def _iterations(self) -> None:
        for domain in self.domains:
            domain.changed |= any(self._begin.get(entry) == self.now for entry in domain.queue)
        super()._iterations()

    def _iterate(self, domain: state.DomainState) -> None:
        if domain.config.backfill != "conservative" or domain.config.layout is not None:
            super()._iterate(domain)
            return
        for entry in [e for e in order.ordered(domain, self.now) if e not in self._begin]:
            self._begin[entry] = self._plan(domain).earliest(entry.nodes, entry.job.requested)[0]
        for entry in [e for e in domain.queue if self._begin[e] == self.now]:
            domain.start(entry, entry.nodes, self.now)

    def _plan(self, domain: state.DomainState) -> flat.Plan:
        plan = domain.pool().plan(self.now)
        for entry in domain.queue:
            if entry in self._begin:
                plan.occupy(entry.nodes, self._begin[entry], self._begin[entry] + entry.job.requested)
        return plan


# Partitioned machines


def rounded_only(domain: RefDomain) -> None:
    if domain.layout is not None:
        domain.jobs = [replace(job, nodes=blocks.rounded_up(job.nodes, *domain.layout)) for job in domain.jobs]
    domain.layout = None


def unaligned_blocks(size: int, units: int) -> list[blocks.Block]:
    return [(first, size) for first in range(units - size + 1)]


def highest_block(pool: blocks.Pool, nodes: int) -> blocks.Block | None:
    return max(pool.free_blocks(nodes), default=None)


class SpoiledBlock(blocks.Reservation):
    def offer(self, pool: blocks.Pool, nodes: int, end: int) -> blocks.Block | None:
        lowest = pool.fit(nodes)
        return lowest if lowest is not None and (end <= self.shadow or self._spares(lowest)) else None


# Times and traces


def actual_times(domain: RefDomain) -> None:
    domain.jobs = [replace(job, requested=job.run) for job in domain.jobs]


def times_killed(line: Line, _overrun: str) -> tuple[int, int]:
    return right_times(line, "kill")


def times_extended(line: Line, _overrun: str) -> tuple[int, int]:
    return right_times(line, "extend")


def times_as_stated(line: Line, _overrun: str) -> tuple[int, int]:
    return line.run, right_times(line, "kill")[1]


def clean_without_failed(lines: list[Line], *machine) -> list[RefJob]:
    return right_clean([line for line in lines if line.status == 1], *machine)


def clean_with_large_jobs_to_come(lines: list[Line], nodes: int, *rest) -> list[RefJob]:
    """A job that is larger than the machine is awaited as if it were submitted after all others."""
    awaited = [line._replace(submit=10 * slowly.LAST_INSTANT, procs=1) for line in lines if larger(line, nodes, *rest)]
    return [*right_clean(lines, nodes, *rest), *right_clean(awaited, nodes, *rest)]


def larger(line: Line, nodes: int, procs_per_node: int, _overrun: str) -> bool:
    return line.procs > nodes * procs_per_node


def read_domain_in_processors(folder, table: dict[str, Any], overrun: str) -> RefDomain:
    procs = table["nodes"] * table.get("procs_per_node", 1)
    return right_read_domain(folder, {**table, "nodes": procs, "procs_per_node": 1}, overrun)
