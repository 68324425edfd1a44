"""What happens to a job by an event: the entries of the tables of transitions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.effects import Effect

Transition = Callable[[PairedJob, Any, int], list[Effect]]


def ignore(job: PairedJob, event: object, now: int) -> list[Effect]:  # noqa: ARG001
    """Too late: nothing happens."""
    return []


@dataclass(frozen=True, slots=True)
class ForWhom:
    """What follows from an outcome that either our own proposal or a peer has asked for."""

    ours: Transition
    of_peer: Transition

    def __call__(self, job: PairedJob, event: Any, now: int) -> list[Effect]:
        """Carry out the one or the other."""
        return (self.of_peer if event.for_peer else self.ours)(job, event, now)

    @property
    def __name__(self) -> str:
        return self.ours.__name__
