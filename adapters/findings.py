"""What an examination of a policy domain's set-up finds: `cosched doctor`, and the adapters that take part in it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Grade(StrEnum):
    """How grave a finding is."""

    OK = "ok"
    WARNING = "warning"  # it works, but not as well as it could, or not always
    PROBLEM = "problem"  # jobs with mates will not start as they should


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. All texts are single lines for people."""

    grade: Grade
    subject: str  # a parameter, a file, a peer
    found: str
    change: str = ""  # what to change; empty if nothing is wrong
    file: str = ""  # where the lines belong: slurm.conf, cosched.conf, "[manager] of the domain's file", "shell"
    lines: tuple[str, ...] = ()  # to be put there as they are


def ok(subject: str, found: str) -> Finding:
    """Nothing is wrong."""
    return Finding(Grade.OK, subject, found)


def warning(subject: str, found: str, change: str, file: str = "", *lines: str) -> Finding:
    """Something could be better."""
    return Finding(Grade.WARNING, subject, found, change, file, lines)


def problem(subject: str, found: str, change: str, file: str = "", *lines: str) -> Finding:
    """Something must be changed."""
    return Finding(Grade.PROBLEM, subject, found, change, file, lines)


def section(name: str) -> str:
    """A `file` of findings: a section of the domain's configuration."""
    return f"[{name}] of the domain's file"


SHELL = "shell"  # a `file` of findings: commands
