"""A scheduler under test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from random import Random

from cosched.core.scheduling.scheduler import OpenScheduler
from cosched.schedulers.kind import SchedulerKind
from cosched.validation.sections import CoschedulingFields

NODES = 8


@dataclass(frozen=True)
class Subject:
    """What opens a scheduler of `NODES` nodes, and what jobs say for it beyond their size and time.

    `columns`: of any job of so many nodes. `of_size`: of one that needs so many nodes and says no more than it must.
    """

    open: Callable[[], OpenScheduler]
    columns: Callable[[Random, int], object]
    of_size: Callable[[int], object]


def subjects_of(name: str, kind: SchedulerKind) -> Iterator[tuple[str, Subject]]:
    """Yield a kind with its keys at their defaults, also with slots if it gives them."""
    says = kind.read({})
    for slots in (False, True) if kind.capabilities.slots else (False,):
        settings = kind.settings(kind.keys(), NODES, CoschedulingFields(slots=slots))
        subject = Subject(partial(kind.open, settings), lambda *_: says, lambda _: says)
        yield f"{name}{'-slots' * slots}", subject
