"""What a service does for itself: old jobs go in portions, with pauses in which others are served."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cosched.core.job import JobState
from cosched.service import upkeep
from cosched.service.metrics import Metrics
from cosched.service.store import Store
from cosched.service.upkeep import Upkeep
from tests.service.store_examples import DOMAIN, add, job

NOW, RETENTION = 1000, 500


class Timers:
    """Timers that fire when they are asked to; the clock as well."""

    def __init__(self) -> None:
        self.due: dict[str, Any] = {}
        self.instants: list[float] = []

    def now(self) -> int:
        return NOW

    def every(self, key: str, _: float, fire: Any) -> None:
        self.due[key] = fire

    def set(self, key: str, at: float, fire: Any) -> None:
        self.instants.append(at)
        self.due[key] = fire


def test_old_jobs_go_in_portions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "PORTION", 10)
    timers = Timers()
    with closing(Store.open(tmp_path / "x.db", DOMAIN)) as store:
        add(store, [job(n, JobState.COMPLETED, ended_at=n) for n in range(1, 31)])
        Upkeep(store, timers, timers, Metrics("1"), RETENTION).start()
        left = []
        fire = timers.due.pop("retire")
        while fire is not None:
            fire()
            left.append(len(store.jobs(None, None, False, 0, -1)))
            fire = timers.due.pop("retire more", None)
    assert (left, timers.instants) == ([19, 8, 0], [NOW + 1] * 2)
