"""Replays the same jobs without coscheduling and under every combination of the domains' schemes."""

from __future__ import annotations

from collections.abc import Iterator

from cosched.sim.combinations import compared
from cosched.sim.replaying import Replay
from cosched.sim.results.result import ReplayResult


def compare(replay: Replay) -> Iterator[ReplayResult]:
    """Simulate every combination in turn, each one when it is needed, so that only one is in memory."""
    for schemes in compared(replay.config).values():
        yield replay.run(schemes)
