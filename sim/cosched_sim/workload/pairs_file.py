"""The pairs file: a CSV of job ids, with a column for each policy domain and a row for each pair or group."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Collection, Mapping, Sequence

from cosched.core.protocol import LONGEST_OFFSET, MAX_MEMBERS, Domain, Terms
from cosched.validation.text import shown
from cosched.words.errors import InputError
from cosched_sim.workload.jobs import Workload
from cosched_sim.workload.pairing import TOGETHER, Group, Pairing, paired
from cosched_sim.workload.terms_columns import COLUMNS, read_terms, write_terms
from cosched_sim.workload.traces.atomic import write_whole
from cosched_sim.workload.traces.opening import StrPath, numbered, read_blocks, source_name

LONGEST_NUMBER = 18
LONGEST_INSTANT = 10
AT = "at"  # the column of instants
BESIDE = (AT, *COLUMNS)  # the columns that are not domains
_WINDOW = re.compile(r"([+-]?\d{1,9})\.\.([+-]?\d{1,9})")


def pairs_from_file(
    path: StrPath, names: Sequence[str], workloads: Sequence[Workload], slots: Collection[str] | None = None
) -> Pairing:
    """Read a CSV file: its header names policy domains, its rows are job ids; an empty cell is not a member.

    `names` and `workloads` list the domains in the same order; a domain need not have a column. '-' is standard
    input. A row that names a job left out in cleaning is dropped, but still counted in the numbering.

    A cell `ID@LO..HI` gives a job its window, in whole seconds after the common instant of the row's jobs. Only domains
    with slots can have jobs of such rows; `slots` names those that have, None: all. So it is with rows that have a
    number in a column `at`, unless that is a domain: this is the common instant, in seconds as submissions are. The
    columns of `terms_columns` say what jobs do when others of their row end, or are queued again.

    InputError names the line of an unknown or repeated column, a wrong number of cells, too few or too many members, a
    job that its trace does not have, a job named twice, or windows or instants that cannot be. It is also raised for a
    file that cannot be read, is not text or has no header.
    """
    source = source_name(path)
    lines = numbered(read_blocks(path))
    line, header = next(lines, (1, ""))
    columns = _columns(header, names, source, line)
    jobs = {domain: _Jobs(names[domain], workloads[domain]) for domain in columns if isinstance(domain, int)}
    row, found, terms = 0, [], dict[tuple[int, int], Terms]()
    for row, (line, text) in enumerate(lines, 1):
        try:
            members, beside = _members(text, columns)
            mates = [(domain, *jobs[domain].claim(cell, line)) for domain, cell in members]
            windows = _windows({names[domain]: window for domain, _, window in mates})
            at = _instant(beside.pop(AT)) if AT in beside else None
            told = read_terms(beside, [names[domain] for domain, _ in members]) if beside else {}
            group = Group(row, tuple((domain, job) for domain, job, _ in mates if job is not None), windows, at)
            if group.by_slots_only:
                _check_slots([names[domain] for domain, _ in members], slots)
        except ValueError as error:
            raise InputError(source, line, str(error)) from None
        if len(group.members) == len(members):
            found.append(group)
            terms |= {member: told[names[member[0]]] for member in group.members if names[member[0]] in told}
    return paired(found, row - len(found), terms)


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


def write_pairs(path: StrPath, names: Sequence[str], workloads: Sequence[Workload], pairing: Pairing) -> None:
    """Write the CSV file that `pairs_from_file` reads, one column a domain; '-' is standard output.

    Dropped rows are not written and leave no gap. The file appears whole or not at all; OSError passes through.
    """
    text = _csv_text(names, workloads, pairing)
    if path != "-":
        write_whole(path, text)
        return
    sys.stdout.write(text)
    sys.stdout.flush()


class _Jobs:
    """The jobs of one domain that a pairs file may name; each may be named once."""

    def __init__(self, domain: str, workload: Workload) -> None:
        self._domain = domain
        self._numeric = workload.job_id.dtype.kind == "i"
        self._rows = {job_id: row for row, job_id in enumerate(workload.job_id.tolist())}
        self._left_out = workload.left_out_ids
        self._lines: dict[int | str, int] = {}

    def claim(self, cell: str, line: int) -> tuple[int | None, tuple[int, int]]:
        """Return the row of the job of this cell, None if it was left out, and its window; ValueError."""
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


def columns_of_domains(header: Sequence[str], known: Collection[str] = ()) -> list[str]:
    """Return the columns of a header that are domains: all but those of this format, unless they are `known` ones."""
    return [name for name in header if name in known or name not in BESIDE]


def _columns(header: str, names: Sequence[str], source: str, line: int) -> list[int | str]:
    """Return the domain index of each column, or its name if it is another one."""
    expected = f"expected the names of domains ({', '.join(names)})"
    known: dict[str, int | str] = {name: name for name in BESIDE}
    known |= {name: domain for domain, name in enumerate(names)}
    if not header:
        raise InputError(source, line, f"no header line: {expected}")
    try:
        columns = _cells(header)
    except ValueError as error:
        raise InputError(source, line, str(error)) from None
    for number, name in enumerate(columns):
        if name not in known:
            raise InputError(source, line, f"column {shown(name)} is not a domain: {expected}")
        if name in columns[:number]:
            raise InputError(source, line, f"the column {shown(name)} occurs twice")
    return [known[name] for name in columns]


def _members(text: str, columns: Sequence[int | str]) -> tuple[list[tuple[int, str]], dict[str, str]]:
    """Return (domain index, job id) of a row's members in order, and its other cells that are not empty; ValueError."""
    cells = _cells(text)
    if len(cells) != len(columns):
        raise ValueError(f"{len(cells)} cells, but the header has {len(columns)}")
    given = [(domain, cell) for domain, cell in zip(columns, cells, strict=True) if cell]
    members = sorted((column, cell) for column, cell in given if isinstance(column, int))
    if len(members) < 2:
        raise ValueError(f"a pair has two jobs, but this row names {len(members)}")
    if len(members) > MAX_MEMBERS:
        raise ValueError(f"a group has at most {MAX_MEMBERS} jobs, but this row names {len(members)}")
    return members, {column: cell for column, cell in given if isinstance(column, str)}


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


def _csv_text(names: Sequence[str], workloads: Sequence[Workload], pairing: Pairing) -> str:
    ids = [workload.job_id.tolist() for workload in workloads]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    beside = [AT] if any(group.at is not None for group in pairing.groups) else []
    told = {}
    for group in pairing.rows if pairing.terms else ():
        told[group.row] = write_terms({names[of[0]]: pairing.terms[of] for of in group.members if of in pairing.terms})
    beside += [column for column in COLUMNS if any(cells[column] for cells in told.values())]
    writer.writerow([*names, *beside])
    for group in pairing.rows:
        cells = [""] * len(names)
        for domain, job in group.members:
            cells[domain] = ids[domain][job]
        for (domain, _), (low, high) in zip(group.members, group.windows, strict=False):
            if (low, high) != TOGETHER:
                cells[domain] = f"{cells[domain]}@{low}..{high}"
        given = {AT: "" if group.at is None else str(group.at), **told.get(group.row, {})}
        writer.writerow([*cells, *(given[column] for column in beside)])
    return text.getvalue()
