"""What a job of a heterogeneous domain says of itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Priority(IntEnum):
    """The queue of a job; those of lower numbers are placed first."""

    HIGH = 0
    MEDIUM = 1
    LOW = 2


@dataclass(frozen=True, slots=True)
class Classed:
    """A job of a class, which says how long it runs where."""

    job_class: str
    priority: Priority = Priority.MEDIUM
