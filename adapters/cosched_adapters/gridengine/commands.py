"""Grid Engine's commands, and what they print, as pure functions."""

from __future__ import annotations

import calendar
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from io import BytesIO
from xml.etree import ElementTree

from cosched.core.protocol import Named
from cosched_adapters.manager import ManagerError, UnavailableError
from cosched_adapters.mate_fields import RESOURCES, WordError, words

RESCHEDULED = 25  # of a record of accounting: the job was queued again, it has not ended
_SILENT = ("commlib error", "unable to contact qmaster", "unable to send message")
_MOST_SAID = 200  # characters of an error message
_SEPARATOR = "=" * 62


class RefusedError(ManagerError):
    """Grid Engine refuses a command: the job is unknown, or in no state for it."""


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job as qstat shows it; instants in seconds since 1970."""

    job_id: str
    owner: str = ""
    name: str = ""
    state: str = ""  # such as qw, hqw, r, dr; empty: not looked at
    pending: bool = False
    slots: int = 1
    time_limit: int = 0  # seconds; 0: none
    submitted_at: int = 0
    account: str = ""
    array: bool = False
    words: Mapping[str, str] = field(default_factory=dict)  # those of its context that name a mate
    turn: str = ""  # when it got its slots, in Grid Engine's words: each time another

    @property
    def deleted(self) -> bool:
        """Whether it is about to end, since somebody has deleted it."""
        return "d" in self.state


@dataclass(frozen=True, slots=True)
class Record:
    """A record of accounting: a run of a job, or its end."""

    failed: int
    why: str
    exit_status: int
    started_at: int | None
    ended_at: int | None


# Commands


def details(job: str = "*") -> list[str]:
    """Return what is known of a job; of all. After a crash of the qmaster its XML is not well-formed."""
    return ["qstat", "-j", job]


def change(job: str, words: Mapping[str, str]) -> list[str]:
    """Change a job's context; an empty value removes a word."""
    return ["qalter", *context(words), job]


def context(words: Mapping[str, str]) -> list[str]:
    """Return the options that give a job these words; empty ones are removed, also if lines of its script give them.

    What is added comes first: the qmaster (8.1.9) dies of an order that removes a job's last word and then adds one.
    """
    given = ",".join(f"{name}={value}" for name, value in words.items() if value)
    removed = ",".join(name for name, value in words.items() if not value)
    return [*(["-ac", given] if given else []), *(["-dc", removed] if removed else [])]


def words_of(named: Named | None, before: Named | None = None) -> dict[str, str]:
    """Return the words of a context that name this mate: see `mate_fields.words`. WordError."""
    given = words(named, before)
    if cut := next((value for value in given.values() if "," in value), None):
        raise WordError(f"{cut} has a comma, at which Grid Engine ends a word of a context")
    return given


# What they print


def failure(command: str, code: int, said: bytes) -> ManagerError:
    """Return the error for a command that has failed. Most refusals are printed as output, not as errors."""
    text = " ".join(said.decode(errors="replace").split())[:_MOST_SAID]
    if any(words in text for words in _SILENT):
        return UnavailableError(f"{command}: {text}")
    return RefusedError(f"{command}: {text or f'refused (exit {code})'}")


def is_not_restartable(printed: bytes) -> bool:
    """Return whether qmod has refused to queue a job again (`qsub -r n`), which it says with the exit code 0."""
    return b"is not restartable" in printed


def each_job(states: bytes, known: Mapping[str, Mapping[str, str]]) -> Iterator[JobRow]:
    """Yield the jobs that have not ended, in the order of their dispatch; `known`: by their numbers, see `each_known`.

    Of an array's tasks one is shown. ManagerError.
    """
    told: set[str] = set()
    for job in _elements(states, "job_list"):
        id = job.findtext("JB_job_number", "")
        if id in known and id not in told:
            told.add(id)
            pending, granted = job.get("state") == "pending", _number(job.findtext("slots", ""))
            row = _job(known[id], job.findtext("state", ""), granted, pending=pending)
            yield replace(row, turn=job.findtext("JAT_start_time", ""))


def _elements(printed: bytes, tag: str) -> Iterator[ElementTree.Element]:
    """Yield the elements of a document, each as soon as it is read. ManagerError."""
    try:
        for _, element in ElementTree.iterparse(BytesIO(printed)):
            if element.tag == tag:
                yield element
    except ElementTree.ParseError as error:
        raise ManagerError(f"qstat has printed no XML: {error}") from None


def parse_details(printed: bytes) -> list[JobRow]:
    """Return jobs without their states."""
    return [_job(job, "", 0, pending=False) for job in each_known(printed)]


def each_known(printed: bytes) -> Iterator[dict[str, str]]:
    """Yield what is known of each job, by Grid Engine's names."""
    for block in printed.decode(errors="replace").split(_SEPARATOR):
        lines = (line.partition(":") for line in block.splitlines() if line[:1].strip())
        found = {name.strip(): value.strip() for name, _, value in lines}
        if "job_number" in found:
            yield found


def _job(shown: Mapping[str, str], state: str, granted: int, *, pending: bool) -> JobRow:
    limits = dict(pair.partition("=")[::2] for pair in shown.get("hard resource_list", "").split(","))
    context = dict(pair.partition("=")[::2] for pair in shown.get("context", "").split(","))
    account = shown.get("account", "")
    return JobRow(
        shown["job_number"],
        shown.get("owner", ""),
        shown.get("job_name", ""),
        state,
        pending,
        granted or _number(shown.get("parallel environment", "").rpartition("range:")[2].partition("-")[0]) or 1,
        _number(limits.get("h_rt", "")),
        instant(shown.get("submission_time", "")) or 0,
        "" if account == "sge" else account,  # what Grid Engine writes if there is none
        "job-array tasks" in shown,
        {name: context[name] for name in RESOURCES if name in context},
    )


def parse_slots(printed: bytes) -> int:
    """Return how many slots all queues have."""
    rows = [line.split() for line in printed.decode(errors="replace").splitlines()]
    return sum(_number(row[5]) for row in rows if len(row) > 5 and row[5].isdecimal())


def parse_accounting(printed: bytes) -> list[Record]:
    """Return a job's records, the latest last."""
    found = []
    for block in printed.decode(errors="replace").split(_SEPARATOR):
        pairs: Iterable[list[str]] = (line.split(None, 1) for line in block.splitlines())
        shown = {pair[0]: pair[1].strip() for pair in pairs if len(pair) == 2}
        if "failed" in shown:
            code, _, why = shown["failed"].partition(":")
            times = instant(shown.get("start_time", "")), instant(shown.get("end_time", ""))
            found.append(Record(_number(code), why.strip(), _number(shown.get("exit_status", "")), *times))
    return found


def _number(text: str) -> int:
    return int(text) if text.strip().isdecimal() else 0


@lru_cache(maxsize=1 << 14)
def instant(text: str) -> int | None:
    """Return a date of ctime(3), in UTC. Each look has those of all jobs again, and to read them takes long."""
    try:
        return calendar.timegm(time.strptime(text, "%a %b %d %H:%M:%S %Y")) or None
    except (ValueError, OverflowError):
        return None
