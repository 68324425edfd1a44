"""The cases of a study: replays, or other runs, each with its own measures."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from cosched_sim.sweeps.case import Case, Row

if TYPE_CHECKING:
    from cosched_sim.replaying import Replay
    from cosched_sim.results.result import ReplayResult

LABELS = ("experiment", "point", "schemes", "replication")  # of a case, and the first columns of its row


@dataclass(frozen=True)
class StudyCase(Case):
    """A case that `measure` measures, a function of a module; `more` (JSON values) says more than the settings."""

    measure: Callable[[StudyCase], Row]
    more: tuple[Any, ...] = ()

    @cached_property
    def key(self) -> str:
        """A hash of the replay, as that of any case, and of what is said beside it."""
        key = super().key
        return hashlib.sha256(json.dumps((key, *self.more)).encode()).hexdigest()[:16] if self.more else key

    def measures(self) -> Row:
        """Run it."""
        return self.measure(self)


def labels(experiment: str, point: float, schemes: str, replication: int) -> dict[str, str | int | float]:
    """Return the place of a case."""
    return dict(zip(LABELS, (experiment, float(point), schemes, replication), strict=True))


def replayed(settings: Mapping[str, Any]) -> ReplayResult:
    """Replay a case."""
    return _read(json.dumps(settings)).run()


def on_same_jobs(case: StudyCase, base: Mapping[str, Any], **more: Any) -> tuple[Replay, Replay]:
    """Return a replay by the settings `base`, and one of its jobs by the case's; cases in a row read them once."""
    from cosched_sim.configuration import replay_config

    jobs = _read(json.dumps(base, sort_keys=True))
    here = copy.copy(jobs)
    here.config = replay_config("case", {**case.settings, **more})
    return jobs, here


@lru_cache(maxsize=1)
def _read(said: str) -> Replay:
    from cosched_sim.configuration import replay_config
    from cosched_sim.replaying import Replay

    return Replay(replay_config("case", json.loads(said)))
