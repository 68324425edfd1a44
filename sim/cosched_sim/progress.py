"""How far a replay has come, in words."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from cosched_sim.workload.jobs import Workload

STEPS = 100  # in a replay, from its first to its last submission
DAY = 86_400


class TimeLine:
    """Tells of instants of a replay: the share of the time of submissions, the simulated day, how long it still takes.

    The last jobs are submitted at 100 %; what is left then is short.
    """

    def __init__(self, workloads: Sequence[Workload], say: Callable[[str], None]) -> None:
        self._first = min(int(workload.submit.min()) for workload in workloads)
        self._span = max(int(workload.submit.max()) for workload in workloads) - self._first
        self._say = say
        self._began = time.monotonic()
        self._said = -1
        self.stride = max(1, self._span // STEPS)

    def tell(self, now: int) -> None:
        """Say how far the replay is, if that is another per cent."""
        share = min(1.0, max(0.0, (now - self._first) / max(1, self._span)))
        percent = int(100 * share)
        if percent > self._said:
            self._said = percent
            left = f", {time_left((time.monotonic() - self._began) * (1 - share) / share)} left" if share else ""
            self._say(f"{percent} %, day {1 + (now - self._first) // DAY:,} of {1 + self._span // DAY:,}{left}")


def time_left(seconds: float) -> str:
    """Format the time left: `5 s`, `12 min` or `3.5 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
