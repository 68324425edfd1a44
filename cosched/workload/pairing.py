"""Jobs that are to start together, in pairs and larger groups: from a file, by submission window, or as a share."""

from __future__ import annotations

import csv
import decimal
import io
import math
import re
import sys
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple
from zlib import crc32

import numpy as np

from cosched.core.protocol import LONGEST_OFFSET, MAX_MEMBERS, Domain, GroupName, Window
from cosched.errors import InputError
from cosched.validation.text import shown
from cosched.workload.jobs import Ints, Workload
from cosched.workload.traces.atomic import replacing
from cosched.workload.traces.opening import StrPath, numbered, read_blocks, source_name

LONGEST_NUMBER = 18
LONGEST_INSTANT = 10
NO_LIMIT = sys.maxsize
TOGETHER = (0, 0)
AT = "at"  # the column of instants
_WINDOW = re.compile(r"([+-]?\d{1,9})\.\.([+-]?\d{1,9})")


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

    def named_by(self, domain: int, names: Sequence[Domain]) -> GroupName:
        """What the member in this domain names; `names` are those of all domains."""
        others = tuple(names[other] for other, _ in self.members if other != domain)
        given = zip((names[of] for of, _ in self.members), self.windows, strict=False)
        windows = tuple(sorted(Window(name, *window) for name, window in given if window != TOGETHER))
        return GroupName(str(self.row), others, windows=windows, at=self.at)


@dataclass(frozen=True, slots=True, eq=False)
class Pairing:
    """n pairs of jobs in the order of their rows, and the larger groups; a job is in at most one of all.

    `row` (n,) is the row in the pairs file, counted from 1: dropped rows count, blank lines and the header do not.
    `domain` and `job` (n, 2) have a column for each mate: the index of its policy domain, ascending, and its row
    in that domain's workload. `dropped` counts the rows that named a job left out in cleaning.
    """

    row: Ints
    domain: Ints
    job: Ints
    dropped: int = 0
    groups: tuple[Group, ...] = ()

    def __len__(self) -> int:
        """The number of pairs and groups."""
        return len(self.row) + len(self.groups)


def pairs_from_file(
    path: StrPath, names: Sequence[str], workloads: Sequence[Workload], slots: Collection[str] | None = None
) -> Pairing:
    """Read a CSV file: its header names policy domains, its rows are job ids; an empty cell is no member.

    `names` and `workloads` list the domains in the same order; a domain need not have a column. '-' is standard
    input. A row that names a job left out in cleaning is dropped, but still counted in the numbering.

    A cell `ID@LO..HI` gives a job its window, in whole seconds after the common instant of the row's jobs. Only domains
    with slots can have jobs of such rows; `slots` names those that have, None: all. So it is with rows that have a
    number in a column `at`, unless that is a domain: this is the common instant, in seconds as submissions are.

    InputError names the line of an unknown or repeated column, a wrong number of cells, too few or too many members, a
    job that its trace does not have, a job named twice, or windows or instants that cannot be. It is also raised for a
    file that cannot be read, is not text or has no header.
    """
    source = source_name(path)
    lines = numbered(read_blocks(path))
    line, header = next(lines, (1, ""))
    columns = _columns(header, names, source, line)
    jobs = {domain: _Jobs(names[domain], workloads[domain]) for domain in columns if domain is not None}
    row, found = 0, []
    for row, (line, text) in enumerate(lines, 1):
        try:
            members, at = _members(text, columns)
            mates = [(domain, *jobs[domain].claim(cell, line)) for domain, cell in members]
            windows = _windows({names[domain]: window for domain, _, window in mates})
            group = Group(row, tuple((domain, job) for domain, job, _ in mates if job is not None), windows, at)
            if group.by_slots_only:
                _check_slots([names[domain] for domain, _ in members], slots)
        except ValueError as error:
            raise InputError(source, line, str(error)) from None
        if len(group.members) == len(members):
            found.append(group)
    return paired(found, row - len(found))


def split_window(cell: str) -> tuple[str, str]:
    """Return the job's id of a cell of a pairs file, and its window as it is written there, empty if there is none."""
    id, at, window = cell.rpartition("@")
    return (id, window) if at else (cell, "")


def _windows(given: Mapping[Domain, tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return the windows of a row's jobs, none if all start together; ValueError if they cannot be."""
    if all(window == TOGETHER for window in given.values()):
        return ()
    if TOGETHER not in given.values():
        raise ValueError("every job has a window, but they count from one that has none")
    return tuple(given.values())


def _check_slots(names: Sequence[str], slots: Collection[str] | None) -> None:
    without = [name for name in names if slots is not None and name not in slots]
    if without:
        raise ValueError(f"jobs with windows or an instant are for domains with slots, and {without[0]} has none")


def _parse_window(text: str) -> tuple[int, int]:
    found = _WINDOW.fullmatch(text)
    if found is None:
        raise ValueError(f"window {shown(text)} is not of whole seconds, FROM..TO, as -300..300")
    low, high = map(int, found.groups())
    if low > high:
        raise ValueError(f"window {text} ends before it begins")
    if max(-low, high) > LONGEST_OFFSET:
        raise ValueError(f"window {text} is more than 7 days from the common instant")
    return low, high


def paired(found: Sequence[Group], dropped: int = 0) -> Pairing:
    """Return these rows, those of two members as pairs."""
    pairs = [group for group in found if _is_pair(group)]
    return Pairing(
        row=np.array([pair.row for pair in pairs], dtype=np.int64),
        domain=_table([domain for domain, _ in pair.members] for pair in pairs),
        job=_table([job for _, job in pair.members] for pair in pairs),
        dropped=dropped,
        groups=tuple(group for group in found if not _is_pair(group)),
    )


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


def write_pairs(path: StrPath, names: Sequence[str], workloads: Sequence[Workload], pairing: Pairing) -> None:
    """Write the CSV file that `pairs_from_file` reads, one column a domain; '-' is standard output.

    Dropped rows are not written and leave no gap. The file appears whole or not at all; OSError passes through.
    """
    text = _csv_text(names, workloads, pairing)
    if path == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    with replacing(path) as stream:
        stream.write(text.encode())


class _Jobs:
    """The jobs of one domain that a pairs file may name; each may be named once."""

    def __init__(self, domain: str, workload: Workload) -> None:
        self._domain = domain
        self._numeric = workload.job_id.dtype.kind == "i"
        self._rows = {job_id: row for row, job_id in enumerate(workload.job_id.tolist())}
        self._left_out = workload.left_out_ids
        self._lines: dict[int | str, int] = {}

    def claim(self, cell: str, line: int) -> tuple[int | None, tuple[int, int]]:
        """Return the row of the job of this cell, None if it was left out, and its window.

        ValueError if it is unknown or already paired, or the window cannot be.
        """
        window = TOGETHER
        job_id = self._id(cell)
        if job_id is None and "@" in cell:  # an id may have one, too
            name, text = split_window(cell)
            job_id = self._id(name)
            window = TOGETHER if job_id is None else _parse_window(text)
        if job_id is None:
            raise ValueError(f"{self._domain} has no job {shown(cell)}")
        if job_id in self._lines:
            raise ValueError(f"{self._domain}'s job {shown(cell)} is already paired on line {self._lines[job_id]}")
        self._lines[job_id] = line
        return self._rows.get(job_id), window

    def _id(self, text: str) -> int | str | None:
        """Return the id of the job that the text names, None if there is none."""
        is_number = text.isascii() and text.isdecimal() and len(text) <= LONGEST_NUMBER
        job_id = int(text) if self._numeric and is_number else text
        return job_id if job_id in self._rows or job_id in self._left_out else None


def _columns(header: str, names: Sequence[str], source: str, line: int) -> list[int | None]:
    """Return the domain index of each column; None: that of instants."""
    expected = f"expected the names of domains ({', '.join(names)})"
    known: dict[str, int | None] = {AT: None} | {name: domain for domain, name in enumerate(names)}
    if not header:
        raise InputError(source, line, f"no header line: {expected}")
    try:
        columns = _cells(header)
    except ValueError as error:
        raise InputError(source, line, str(error)) from None
    for number, name in enumerate(columns):
        if name not in known:
            raise InputError(source, line, f"column {shown(name)} is no domain: {expected}")
        if name in columns[:number]:
            raise InputError(source, line, f"the column {shown(name)} occurs twice")
    return [known[name] for name in columns]


def _members(text: str, columns: Sequence[int | None]) -> tuple[list[tuple[int, str]], int | None]:
    """Return (domain index, job id) of a row's members by domain index, and the instant, if there is one.

    ValueError if they are too few or too many, or it is none.
    """
    cells = _cells(text)
    if len(cells) != len(columns):
        raise ValueError(f"{len(cells)} cells, but the header has {len(columns)}")
    given = [(domain, cell) for domain, cell in zip(columns, cells, strict=True) if cell]
    members = sorted((domain, cell) for domain, cell in given if domain is not None)
    if len(members) < 2:
        raise ValueError(f"a pair has two jobs, but this row names {len(members)}")
    if len(members) > MAX_MEMBERS:
        raise ValueError(f"a group has at most {MAX_MEMBERS} jobs, but this row names {len(members)}")
    return members, next((_instant(cell) for domain, cell in given if domain is None), None)


def _instant(cell: str) -> int:
    if not (cell.isascii() and cell.isdecimal() and len(cell) <= LONGEST_INSTANT):
        raise ValueError(f"instant {shown(cell)} is not of whole seconds, as submissions are")
    return int(cell)


def _cells(text: str) -> list[str]:
    """Split a line into cells; ValueError if its quotes are wrong."""
    try:
        # Quotes are rare, and splitting is faster.
        cells = next(csv.reader([text], strict=True)) if '"' in text else text.split(",")
    except csv.Error as error:
        raise ValueError(f"not CSV: {error}") from None
    return [cell.strip() for cell in cells]


def _table(rows: Iterable[Sequence[int | None]]) -> Ints:
    return np.array(list(rows), dtype=np.int64).reshape(-1, 2)


def _csv_text(names: Sequence[str], workloads: Sequence[Workload], pairing: Pairing) -> str:
    ids = [workload.job_id.tolist() for workload in workloads]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    has_instants = any(group.at is not None for group in pairing.groups)
    writer.writerow([*names, AT] if has_instants else names)
    columns = pairing.row.tolist(), pairing.domain.tolist(), pairing.job.tolist()
    pairs = [Group(row, tuple(zip(*of, strict=True))) for row, *of in zip(*columns, strict=True)]
    for group in sorted([*pairs, *pairing.groups]):
        cells = [""] * len(names)
        for domain, job in group.members:
            cells[domain] = ids[domain][job]
        for (domain, _), (low, high) in zip(group.members, group.windows, strict=False):
            if (low, high) != TOGETHER:
                cells[domain] = f"{cells[domain]}@{low}..{high}"
        writer.writerow([*cells, "" if group.at is None else group.at] if has_instants else cells)
    return text.getvalue()


def _check_several(workloads: Sequence[Workload], option: str) -> None:
    if not 2 <= len(workloads) <= MAX_MEMBERS:
        raise InputError(option, None, f"pairs jobs of 2 to {MAX_MEMBERS} domains, but there are {len(workloads)}")


def _check_sizes(sizes: range, domains: int) -> None:
    if not 2 <= sizes.start < sizes.stop <= min(MAX_MEMBERS, domains) + 1:
        said = f"{sizes.start} to {sizes.stop - 1} jobs are no group of {domains} domains"
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
        for taker, job in _taken(workloads[0], other, takers, limit_s):
            members.setdefault(taker, [(0, taker)]).append((domain, job))
    return paired([Group(row, tuple(members[taker])) for row, taker in enumerate(sorted(members), 1)])


def _taken(first: Workload, second: Workload, takers: Ints, limit_s: int) -> list[tuple[int, int]]:
    """Return which of the `takers` takes which job of `second`."""
    free = _Free(second)
    taken = ((taker, free.take_nearest(int(first.submit[taker]), limit_s)) for taker in takers.tolist())
    return [(taker, job) for taker, job in taken if job is not None]


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
