"""Jobs that are to start together, in pairs and larger groups: by submission window, as a share, or at random."""

from __future__ import annotations

import decimal
import math
import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from typing import NamedTuple
from zlib import crc32

import numpy as np

from cosched.core.protocol import MAX_MEMBERS, Domain, Named, Terms, Window, named_group, named_mate
from cosched.validation.text import shown
from cosched.words.errors import InputError
from cosched_sim.workload.jobs import UNKNOWN, Ints, Workload

NO_LIMIT = sys.maxsize
TOGETHER = (0, 0)


class Group(NamedTuple):
    """More than two jobs: the row in the file, as in `Pairing`, and each member's domain and row there, by domain.

    `windows`: when each member starts, in seconds after the group's common instant, from the first to the second;
    empty: all together. `at`: the common instant, if it is given, in seconds as submissions are. A group with windows
    or an instant may have two jobs.
    """

    row: int
    members: tuple[tuple[int, int], ...]
    windows: tuple[tuple[int, int], ...] = ()
    at: int | None = None

    @property
    def by_slots_only(self) -> bool:
        """Whether its jobs start by an agreement only: they have windows, or the instant is given."""
        return bool(self.windows) or self.at is not None

    def named_by(self, domain: int, names: Sequence[Domain]) -> Named:
        """Return what this domain's member of one of `Pairing.groups` names; `names` are those of all domains."""
        others = tuple(names[other] for other, _ in self.members if other != domain)
        given = zip((names[of] for of, _ in self.members), self.windows, strict=False)
        windows = tuple(sorted(Window(name, *window) for name, window in given if window != TOGETHER))
        return named_group(str(self.row), others, windows=windows, at=self.at)


class Mates(NamedTuple):
    """The jobs of one domain that have mates, by their rows: the row of the pair or group, and a pair's other job."""

    job: Ints
    row: Ints
    mate_domain: Ints
    mate: Ints


@dataclass(frozen=True, eq=False)
class Pairing:
    """n pairs of jobs in the order of their rows, and the larger groups; a job is in at most one of all.

    `row` (n,) is the row in the pairs file, counted from 1: dropped rows count, blank lines and the header do not.
    `domain` and `job` (n, 2) have a column for each mate: the index of its policy domain, ascending, and its row
    in that domain's workload. `dropped` counts the rows that named a job left out in cleaning. `terms`: what jobs do
    when others end or are queued again, by their domains and rows there, if they do anything.
    """

    row: Ints
    domain: Ints
    job: Ints
    dropped: int = 0
    groups: tuple[Group, ...] = ()
    terms: Mapping[tuple[int, int], Terms] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of pairs and groups."""
        return len(self.row) + len(self.groups)

    @property
    def rows(self) -> list[Group]:
        """All pairs and groups, in the order of their rows."""
        columns = self.row.tolist(), self.domain.tolist(), self.job.tolist()
        pairs = [Group(row, tuple(zip(*of, strict=True))) for row, *of in zip(*columns, strict=True)]
        return sorted([*pairs, *self.groups])

    def of_pairs(self, values: Sequence[Ints]) -> Ints:
        """Return the values of both jobs of each pair, shape (n, 2); `values` has an array for each domain's jobs."""
        first = np.cumsum([0, *map(len, values)])
        found: Ints = np.concatenate(values)[first[self.domain] + self.job]
        return found

    def mates_in(self, domain: int) -> Mates:
        """Return the jobs of this domain that have mates; a member of a group has none by itself (UNKNOWN)."""
        return self._mates[min(domain, len(self._mates) - 1)]

    @cached_property
    def _mates(self) -> list[Mates]:
        """Those of each domain, up to the last that has any, and none: in one pass, as there may be many domains."""
        members = [(*member, group.row) for group in self.groups for member in group.members]
        of, job, row = np.array(members, np.int64).reshape(-1, 3).T
        nobody = np.full(len(members), UNKNOWN)
        (one, other), (its, others) = self.domain.T, self.job.T
        of = np.concatenate([one, other, of])
        order = np.argsort(of, kind="stable")
        columns = [
            np.concatenate(parts)[order]
            for parts in ((its, others, job), (self.row, self.row, row), (other, one, nobody), (others, its, nobody))
        ]
        ends = np.searchsorted(of[order], np.arange(of.max(initial=-1) + 1), "right")
        return [Mates(*parts) for parts in zip(*(np.split(column, ends) for column in columns), strict=True)]

    def members(self, domains: int) -> list[set[int]]:
        """Return the rows of the jobs that have mates, for each of so many domains."""
        members: list[set[int]] = [set() for _ in range(domains)]
        for group in self.rows:
            for of, job in group.members:
                members[of].add(job)
        return members

    def replaced(self, new: Mapping[tuple[int, int], int]) -> Pairing:
        """Return these rows with other jobs in the places of some: `new` maps domains and rows there to their rows."""
        if not new:
            return self
        pairs = zip(self.domain.ravel().tolist(), self.job.ravel().tolist(), strict=True)
        jobs = np.array([new.get(member, member[1]) for member in pairs], np.int64).reshape(-1, 2)
        groups = (
            group._replace(members=tuple((member[0], new.get(member, member[1])) for member in group.members))
            for group in self.groups
        )
        return replace(self, job=jobs, groups=tuple(groups))

    def named_by_domain(self, names: Sequence[Domain]) -> list[dict[int, Named]]:
        """Map rows of each domain's jobs to those with which they start; `names` are those of all domains."""
        named: list[dict[int, Named]] = [{} for _ in names]
        pairs = zip(map(str, self.row.tolist()), self.domain.tolist(), self.job.tolist(), strict=True)
        for row, (one, other), (job, mate) in pairs:
            named[one][job], named[other][mate] = named_mate(names[other], row), named_mate(names[one], row)
        for group in self.groups:
            for of, job in group.members:
                named[of][job] = group.named_by(of, names)
        for (of, job), terms in self.terms.items():
            named[of][job] = named[of][job]._replace(terms=terms)
        return named


def paired(found: Sequence[Group], dropped: int = 0, terms: Mapping[tuple[int, int], Terms] | None = None) -> Pairing:
    """Return these rows, those of two members as pairs."""
    pairs, groups = [each for each in found if _is_pair(each)], tuple(each for each in found if not _is_pair(each))
    members = np.array([pair.members for pair in pairs], np.int64).reshape(-1, 2, 2)
    rows = np.array([pair.row for pair in pairs], np.int64)
    return Pairing(rows, members[:, :, 0].copy(), members[:, :, 1].copy(), dropped, groups, terms or {})


def _is_pair(group: Group) -> bool:
    return len(group.members) == 2 and not group.by_slots_only


def pairs_by_window(workloads: Sequence[Workload], window_s: int) -> Pairing:
    """Group the domains' jobs by submit time; rows are numbered in the order of the first domain's jobs.

    Each job of the first domain, in trace order, takes the nearest job of the second that is not paired yet and was
    submitted at most `window_s` seconds before or after it; of two equally near ones it takes the earlier. So it does
    in each other domain, if there are more: a group has a member wherever one was found. The time is nearly linear in
    the number of jobs. InputError if there are not two workloads at least, or the window is negative.
    """
    _check_several(workloads, "--pair-window")
    if window_s < 0:
        raise InputError("--pair-window", None, f"{window_s} s is not a window; give 0 or more")
    return _nearest(workloads, np.arange(len(workloads[0])), window_s)


def pairs_by_fraction(workloads: Sequence[Workload], fraction: Decimal | str, seed: int) -> Pairing:
    """Pair or group floor(`fraction` x jobs) jobs of the first domain, drawn with `seed`.

    The drawn jobs take mates in trace order, as with an unlimited window. The fraction is exact (no binary rounding).
    There are at most as many pairs as the second domain has jobs, or groups as each other one has. InputError if there
    are not two workloads at least, the fraction is not from 0 to 1, or the seed is negative.
    """
    _check_several(workloads, "--pair-fraction")
    first, others = workloads[0], workloads[1:]
    count = min(_share_of(len(first), fraction), *map(len, others))
    # The extra key makes the draw independent of a workload that was generated with the same seed.
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([_checked(seed), crc32(b"pair-fraction")])))
    drawn = rng.choice(np.arange(len(first)), count, replace=False, shuffle=False)
    return _nearest(workloads, np.sort(drawn), NO_LIMIT)


def groups_at_random(workloads: Sequence[Workload], fraction: Decimal | str, sizes: range, seed: int) -> Pairing:
    """Put floor(`fraction` x all jobs) jobs into groups of `sizes`, with `seed`; a group of two is a pair.

    Jobs are drawn one after another. Each takes as many mates as its group's size, which is drawn, too, wants: in
    domains in a random order, the nearest free job by submit time. Rows are numbered by the groups' first submissions.
    There are fewer groups if the jobs do not suffice. InputError as of `pairs_by_fraction`, or for sizes that the
    number of workloads does not allow.
    """
    _check_sizes(sizes, len(workloads))
    lengths = np.array([len(workload) for workload in workloads])
    left = _share_of(int(lengths.sum()), fraction)
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([_checked(seed), crc32(b"groups")])))
    ends = np.cumsum(lengths)
    drawn = rng.permutation(int(lengths.sum()))
    domains = np.searchsorted(ends, drawn, "right")
    free = [_Free(workload) for workload in workloads]
    found: list[tuple[int, tuple[tuple[int, int], ...]]] = []
    for domain, row in zip(domains.tolist(), (drawn - (ends - lengths)[domains]).tolist(), strict=True):
        size = min(int(rng.integers(sizes.start, sizes.stop)), left)
        if size < sizes.start:
            break
        if free[domain].take(row):
            submit = int(workloads[domain].submit[row])
            members = [(domain, row), *_mates_of(domain, submit, rng.permutation(len(free)).tolist(), free, size)]
            if len(members) < sizes.start:
                break
            found.append((min(int(workloads[of].submit[job]) for of, job in members), tuple(sorted(members))))
            left -= len(members)
    return paired([Group(row, members) for row, (_, members) in enumerate(sorted(found), 1)])


def _mates_of(
    domain: int, submit: int, order: Iterable[int], free: Sequence[_Free], size: int
) -> Iterator[tuple[int, int]]:
    """Yield the mates of a job in other domains, in this order, until its group has `size` members."""
    missing = size - 1
    for other in order:
        if missing and other != domain and (job := free[other].take_nearest(submit, NO_LIMIT)) is not None:
            missing -= 1
            yield other, job


def _check_several(workloads: Sequence[Workload], option: str) -> None:
    if not 2 <= len(workloads) <= MAX_MEMBERS:
        raise InputError(option, None, f"pairs jobs of 2 to {MAX_MEMBERS} domains, but there are {len(workloads)}")


def _check_sizes(sizes: range, domains: int) -> None:
    if not 2 <= sizes.start < sizes.stop <= min(MAX_MEMBERS, domains) + 1:
        said = f"{sizes.start} to {sizes.stop - 1} jobs are not a group of {domains} domains"
        raise InputError("--group-size", None, f"{said}; give 2 to {min(MAX_MEMBERS, domains)}")


def _checked(seed: int) -> int:
    if seed < 0:
        raise InputError("--seed", None, f"{seed} is not a seed; give 0 or more")
    return seed


def _share_of(count: int, fraction: Decimal | str) -> int:
    """Return floor(fraction x count), exactly."""
    try:
        share = Decimal(fraction)
    except (decimal.InvalidOperation, TypeError, ValueError):
        share = Decimal("NaN")
    if not (share.is_finite() and 0 <= share <= 1):
        raise InputError("--pair-fraction", None, f"{shown(str(fraction))} is not a number from 0 to 1")
    digits = len(share.as_tuple().digits) + len(str(count))
    return math.floor(decimal.Context(prec=digits).multiply(share, count))


def _nearest(workloads: Sequence[Workload], takers: Ints, limit_s: int) -> Pairing:
    """Let the `takers` (rows of the first), in this order, each take the nearest free job in every other domain."""
    members: dict[int, list[tuple[int, int]]] = {}
    for domain, other in enumerate(workloads[1:], 1):
        free = _Free(other)
        for taker in takers.tolist():
            job = free.take_nearest(int(workloads[0].submit[taker]), limit_s)
            if job is not None:
                members.setdefault(taker, [(0, taker)]).append((domain, job))
    return paired([Group(row, tuple(members[taker])) for row, taker in enumerate(sorted(members), 1)])


class _Free:
    """The jobs of a domain that nobody has taken yet, by submit time."""

    def __init__(self, workload: Workload) -> None:
        self._order = np.argsort(workload.submit, kind="stable").tolist()
        times = workload.submit[self._order]
        # Places 1 to m are the jobs by submit time; 0 and m + 1 mean "none".
        self._time: list[float] = [-math.inf, *times.tolist(), math.inf]
        self._first_of_equals = [0, *(np.searchsorted(times, times) + 1).tolist()]
        self._place = (np.argsort(self._order) + 1).tolist()
        # Following the links from a place leads to the nearest free place on that side, or to the place itself if free.
        self._earlier, self._later = list(range(len(self._time))), list(range(len(self._time)))

    def take_nearest(self, submit: int, limit_s: int) -> int | None:
        """Take the job that was submitted nearest to `submit`, at most `limit_s` from it, and return its row."""
        place = bisect_left(self._time, submit) - 1
        # Jobs up to `place` were submitted before this one, jobs after it at the same time or later.
        before, after = _free(self._earlier, place), _free(self._later, place + 1)
        nearest = before if submit - self._time[before] <= self._time[after] - submit else after
        if abs(self._time[nearest] - submit) > limit_s:
            return None
        if nearest == before:
            nearest = _free(self._later, self._first_of_equals[nearest])
        self._take(nearest)
        return int(self._order[nearest - 1])

    def take(self, row: int) -> bool:
        """Take this job; False: somebody has."""
        place = self._place[row]
        if self._earlier[place] != place:
            return False
        self._take(place)
        return True

    def _take(self, place: int) -> None:
        self._earlier[place], self._later[place] = place - 1, place + 1


def _free(link: list[int], place: int) -> int:
    """Follow the links from `place` to their end, and halve the path on the way."""
    while link[place] != place:
        link[place] = link[link[place]]
        place = link[place]
    return place
