"""Work for users' own services under load: pairs, and jobs without mates."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol

from cosched.cli.own_service import OwnService
from cosched.client import Client
from tests.live.coupled import CoupledWork, unended
from tests.live.workloads import Work, contended
from tests.waiting import wait_until

SEED = 20261129
PAIRS, ALONE, NODES = 50, 15, 12
SKEW = 0.1  # seconds, in the median
SETTINGS = {"release_interval": 5, "max_held_fraction": 0.75, "backoff": 1, "try_patience": 3, "poll_interval": 2}


class LoadedSide(Protocol):
    """An account on a cluster, whose jobs note their ids, names and begins."""

    state: Path
    notes: Path

    @property
    def name(self) -> str:
        """That of its domain."""

    @property
    def service(self) -> Any:
        """What leads to its service."""

    def submit_work(self, work: Work) -> str:
        """Submit a job, with its mate's name if it has one; its id."""

    def queued(self) -> set[str]:
        """The jobs that have not ended, by the batch system."""


def service_of(state: Path) -> Any:
    """Return what leads to an own service."""
    return SimpleNamespace(server=f"unix:{OwnService(state).socket}")


class Load(CoupledWork[LoadedSide]):
    """Pairs by their users' own services, and other jobs."""

    def submit(self, domain: LoadedSide, work: Work, *_: str) -> str:
        """See the class above."""
        return domain.submit_work(work)

    def notes(self, domain: LoadedSide) -> Path:
        """See the class above."""
        return domain.notes

    def unended(self, domain: LoadedSide) -> set[str]:
        """See the class above."""
        return domain.queued() | unended(domain)

    def until(self, condition: Callable[[], Any], what: str) -> Any:
        """See the class above."""
        return wait_until(condition, what)

    def check(self) -> None:
        """Every pair starts together, every job runs once."""
        for domain in self.domains:
            with Client(domain.service.server) as client:
                wait_until(lambda c=client: c.domain().peers[0].state == "reachable", "its peer is reachable")
        outcome = self.run(contended(SEED, PAIRS, ALONE))
        assert set(outcome.runs.values()) == {1}
        assert len(outcome.runs) == 2 * (PAIRS + ALONE)
        assert outcome.states == {"completed": 2 * PAIRS}
        assert len(outcome.whys) == len(outcome.times) == PAIRS
        assert outcome.alone() == {}
        skews = sorted(outcome.skews())
        print("skew:", statistics.median(skews), skews[-1])
        assert statistics.median(skews) <= SKEW, skews
