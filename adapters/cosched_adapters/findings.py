"""Findings of `cosched doctor` about a policy domain's set-up. Adapters contribute theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from cosched.words.file_errors import reason_of


class Grade(StrEnum):
    """How serious a finding is."""

    OK = "ok"
    WARNING = "warning"  # it works, but not always or not as well as it could
    PROBLEM = "problem"  # jobs with mates will not start as they should


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. All texts are single lines for people."""

    grade: Grade
    subject: str  # a parameter, a file, a peer
    found: str
    change: str = ""  # what to change; empty if nothing is wrong
    file: str = ""  # where the lines belong: slurm.conf, cosched.conf, "[manager] of the domain's file", "shell"
    lines: tuple[str, ...] = ()  # to put there, as they are


def ok(subject: str, found: str) -> Finding:
    """Return a finding that nothing is wrong."""
    return Finding(Grade.OK, subject, found)


def warning(subject: str, found: str, change: str, file: str = "", *lines: str) -> Finding:
    """Return a finding that something could be better."""
    return Finding(Grade.WARNING, subject, found, change, file, lines)


def problem(subject: str, found: str, change: str, file: str = "", *lines: str) -> Finding:
    """Return a finding that something must be changed."""
    return Finding(Grade.PROBLEM, subject, found, change, file, lines)


def guarded(subject: str, check: Callable[..., Finding | Iterable[Finding]], *facts: object) -> Iterator[Finding]:
    """Yield what a check of these facts finds. If it fails, that is a finding, too, and the other checks go on."""
    try:
        found = check(*facts)
        yield from (found,) if isinstance(found, Finding) else found
    except Exception as error:
        yield unchecked(subject, error)


def unchecked(subject: str, error: Exception) -> Finding:
    """Return the finding that a check has failed."""
    if isinstance(error, OSError) and error.filename is not None:
        reason = f"{error.filename}: {reason_of(error, error.filename)}"
    else:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
    mend = "run this command as the service's user, or as root" if isinstance(error, PermissionError) else "report this"
    return problem(subject, f"cannot be checked: {reason}", mend)


def section(name: str) -> str:
    """Return the `file` of a finding about a section of the domain's configuration."""
    return f"[{name}] of the domain's file"


SHELL = "shell"  # the `file` of a finding whose lines are commands
