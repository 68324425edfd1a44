"""Work for users' own services under load: pairs, and jobs without mates."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from cosched.cli.own_service import OwnService
from cosched.client import Client
from tests.live.coupled import CoupledWork, Domain, unended
from tests.live.workloads import Work, contended
from tests.waiting import wait_until

SEED = 20261129
PAIRS, ALONE, NODES = 50, 15, 12
SKEW = 0.1  # seconds, in the median
SETTINGS = {"release_interval": 5, "max_held_fraction": 0.75, "backoff": 1, "try_patience": 3, "poll_interval": 2}


def service_of(state: Path) -> Any:
    """What leads to an own service."""
    return SimpleNamespace(server=f"unix:{OwnService(state).socket}")


class Load(CoupledWork):
    """Pairs by their users' own services, and other jobs.

    Each side is an account on a cluster. Its `submit_work` submits a job, which notes its id, name and begin in
    `notes`; `queued` are the jobs that have not ended by the batch system.
    """

    def submit(self, domain: Domain, work: Work, *_: str) -> str:
        return domain.submit_work(work)

    def notes(self, domain: Domain) -> Path:
        return domain.notes

    def unended(self, domain: Domain) -> set[str]:
        return domain.queued() | unended(domain)

    def until(self, condition: Callable[[], Any], what: str) -> Any:
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
