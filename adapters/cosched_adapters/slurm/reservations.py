"""Slurm's reservations: making the commands' arguments and parsing their output. Nothing is run here.

We reserve named nodes: Slurm 22.05 books fewer than a number asks for, and says that it has succeeded. Instants are
given to Slurm in seconds since 1970, so that no time zone matters.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from cosched_adapters.manager import ManagerError
from cosched_adapters.profile import Amounts
from cosched_adapters.slurm import commands
from cosched_adapters.slurm.commands import checked
from cosched_adapters.slurm.hostlists import expand
from cosched_adapters.slurm.wants import licences

_OURS = re.compile(r"cosched-([1-9][0-9]{0,9})-([0-9]{1,18})-[0-9a-f]{32}")
_RANDOM = 16  # bytes: whoever knows the name may put another job of the same user into the reservation
_FLAGS = "flags=no_hold_jobs_after,purge_comp=1"  # Slurm removes what we leave behind a minute after its job's end
IGNORE_JOBS = "ignore_jobs"  # a flag: the nodes may be busy, with the job itself
OVERLAP = "overlap"  # a flag: they may be reserved, for the job itself
_WORD = re.compile(r"[^\s,=]+")  # a node's or user's name, which must not be taken for another argument


class Fault(StrEnum):
    """Why Slurm has refused a command about a reservation."""

    BUSY = "the nodes are busy"  # jobs run there
    NO_LICENCE = "there are not so many licences, or they are reserved"
    OVERLAPS = "the nodes are reserved"
    FEWER_NODES = "fewer nodes were reserved than asked for"
    IN_USE = "a job is in the reservation"
    EXISTS = "there is a reservation of that name"
    UNKNOWN = "there is no such reservation"
    NO_NODE = "there is no such node"
    FORBIDDEN = "Slurm knows no such user, or we are not its operator"
    NOT_ITS_USER = "the job's owner may not use the reservation"


_FAULTS = (  # what the message of a failed command contains
    ("nodes are busy", Fault.BUSY),
    ("Invalid license specification", Fault.NO_LICENCE),
    ("overlaps with another reservation", Fault.OVERLAPS),
    ("reservation is in use", Fault.IN_USE),
    ("Duplicate reservation name", Fault.EXISTS),
    ("Requested reservation is invalid", Fault.UNKNOWN),
    ("Invalid node name", Fault.NO_NODE),
    ("Invalid user id", Fault.FORBIDDEN),
    ("Unspecified error", Fault.FORBIDDEN),  # so says 26.05 of a user that does not exist
    ("Access/permission denied", Fault.FORBIDDEN),
    ("Access denied to requested reservation", Fault.NOT_ITS_USER),
)


class ReservationError(ManagerError):
    """Slurm has refused a command about a reservation, and nothing has changed."""

    def __init__(self, fault: Fault, message: str) -> None:
        super().__init__(message)
        self.fault = fault


@dataclass(frozen=True, slots=True)
class Reservation:
    """A reservation of `nodes` for [start, end), in seconds since 1970, whoever made it."""

    name: str
    start: int
    end: int
    nodes: frozenset[str]
    count: int  # Slurm's own count of the nodes
    licences: Amounts = field(default_factory=dict, hash=False)


def new_name(job_id: str, generation: int) -> str:
    """Return a name for a job's slot that nobody can guess. UnknownJobError."""
    return f"cosched-{checked(job_id)}-{generation}-{secrets.token_hex(_RANDOM)}"


def whose(name: str) -> tuple[str, int] | None:
    """Return the job and the generation that a name of `new_name` is for; None: it is not a reservation of ours."""
    match = _OURS.fullmatch(name)
    return None if match is None else (match[1], int(match[2]))


# Arguments


def create(
    name: str,
    user: str,
    nodes: Sequence[str],
    start: int | None,
    end: int,
    flags: Iterable[str] = (),
    its: Amounts = MappingProxyType({}),
) -> list[str]:
    """Reserve nodes, and licences (`its`), for a user's jobs from `start` (None: now) to `end`.

    ManagerError for a strange name.
    """
    begin = "now" if start is None else f"uts{start}"
    who = [f"reservationname={_word(name)}", f"users={_word(user)}", ",".join([_FLAGS, *flags])]
    place = [f"starttime={begin}", f"endtime=uts{end}", f"nodes={','.join(map(_word, nodes))}"]
    named = ",".join(f"{_word(licence)}:{count}" for licence, count in its.items())
    return ["scontrol", "create", "reservation", *who, *place, *([f"licenses={named}"] if named else [])]


def put_in(job_id: str, name: str) -> list[str]:
    """Let a job, pending or with nodes, start in a reservation only from now on. UnknownJobError."""
    return ["scontrol", "update", f"jobid={checked(job_id)}", f"reservationname={_word(name)}"]


def begin_in(job_id: str, name: str) -> list[str]:
    """Let a pending job start in a reservation only, and Slurm look at it soon. UnknownJobError."""
    return [*put_in(job_id, name), "starttime=now"]


def take_out(job_id: str) -> list[str]:
    """Take a job, pending or with nodes, out of its reservation. UnknownJobError."""
    return ["scontrol", "update", f"jobid={checked(job_id)}", "reservationname="]


def delete(name: str) -> list[str]:
    """Delete a reservation in which no job is."""
    return ["scontrol", "delete", f"reservation={_word(name)}"]


def _word(text: str) -> str:
    if not _WORD.fullmatch(text):
        raise ManagerError(f"{text[:64]!a} cannot be named in a reservation")
    return text


# What they print


def parse(printed: bytes) -> list[Reservation]:
    """Parse what `scontrol show reservations -o` shows, with times in seconds since 1970. ManagerError."""
    lines = printed.decode("utf-8", "surrogateescape").splitlines()
    return [_reservation(line) for line in lines if line.startswith("ReservationName=")]


def check_count(made: Reservation | None, nodes: Sequence[str]) -> None:
    """ReservationError if a reservation that was made has not just these nodes."""
    if made is None:
        raise ReservationError(Fault.UNKNOWN, "the reservation that was made is gone")
    if made.count != len(nodes) or made.nodes != frozenset(nodes):
        raise ReservationError(Fault.FEWER_NODES, f"Slurm has reserved {made.count} of {len(nodes)} nodes")


def failure(command: str, code: int, said: bytes) -> ManagerError:
    """Return the error for a failed command: ReservationError, or that of `commands.failure`."""
    text = said.decode("utf-8", "surrogateescape")
    fault = next((fault for words, fault in _FAULTS if words in text), None)
    if fault is None:
        return commands.failure(command, code, said)
    return ReservationError(fault, f"{command}: {fault}")


def _reservation(line: str) -> Reservation:
    fields = dict(word.partition("=")[::2] for word in line.split())
    try:
        start, end, count = (int(fields[key]) for key in ("StartTime", "EndTime", "NodeCnt"))
    except (KeyError, ValueError):
        raise ManagerError(f"scontrol showed a reservation as {line[:200]!a}") from None
    nodes = frozenset(expand(fields.get("Nodes", "")))
    named = licences(fields.get("Licenses", "").removeprefix("(null)"))
    return Reservation(fields["ReservationName"], start, end, nodes, count, named)
