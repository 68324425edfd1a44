"""How a job log is read, beyond its format: what its text alone does not say."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, get_args
from zoneinfo import ZoneInfo

from cosched.validation.durations import parse_seconds
from cosched.validation.text import shown

Runs = Literal["last", "all"]
RUNS: tuple[Runs, ...] = get_args(Runs)
REST = "*"  # in the place of a partition's name: all others

_NAME = re.compile(r"\w+", re.ASCII)


@dataclass(frozen=True)
class LogOptions:
    """How a log is read.

    `skip_bad`: so many lines that cannot be read are skipped. `columns`: the names of the columns of a log that has no
    header. `timezone`: the zone of times that name none; empty: UTC. `runs`: of a job that was requeued, the last run
    counts, or each as a job. `partition_limit`: the seconds that a job without a time limit of its own has in a
    partition, by name.
    """

    skip_bad: int = 0
    columns: Sequence[str] = ()
    timezone: str = ""
    runs: Runs = "last"
    partition_limit: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def zone(self) -> ZoneInfo | None:
        """The zone of times that name none; None: UTC."""
        return ZoneInfo(self.timezone) if self.timezone else None


PLAIN = LogOptions()


def parse_columns(text: str) -> tuple[str, ...]:
    """Parse 'JobID,Submit,NNodes' or '(JobID|Submit|NNodes%20)' to names; ValueError."""
    names = tuple(name.strip().partition("%")[0] for name in re.split(r"[,|]", _without_parentheses(text)))
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{shown(text)} is not a list of columns such as JobID,Submit,Elapsed,NNodes")
        if names.count(name) > 1:
            raise ValueError(f"the column {name} occurs twice")
    return names


def parse_partition_limit(text: str) -> dict[str, int]:
    """Parse 'batch=24h' or '(batch=24h,*=7d)' to seconds by partition; ValueError."""
    limits: dict[str, int] = {}
    for part in _without_parentheses(text).split(","):
        name, equals, time = part.strip().rpartition("=")
        if not name or not equals:
            raise ValueError(f"{shown(part)} is not NAME=TIME, as batch=24h")
        if name in limits:
            raise ValueError(f"the partition {name} occurs twice")
        limits[name] = parse_seconds(time)
        if not limits[name]:
            raise ValueError(f"{shown(part)}: a time limit is above 0")
    return limits


def check_timezone(text: str) -> str:
    """Return the name of a time zone; ValueError if this host does not know it."""
    try:
        ZoneInfo(text)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"{shown(text)} is not a time zone that is known here, as Europe/Berlin") from None
    return text


def _without_parentheses(text: str) -> str:
    return text[1:-1] if text[:1] == "(" and text[-1:] == ")" else text
