"""How long before an agreed instant a job's start is ordered, so that its first instruction comes at the instant."""

from __future__ import annotations

from collections import deque
from statistics import median

FROM_ORDER_TO_JOB = 0.015  # seconds from qrun's end to the job's first instruction; measured on OpenPBS 23.06.06
_REMEMBERED = 9  # calls


class StartNotice:
    """Learns from the last calls of qrun how long one takes; `most`: seconds, also if there was no call yet."""

    def __init__(self, most: float) -> None:
        self._most = most
        self._took: deque[float] = deque(maxlen=_REMEMBERED)

    def note(self, seconds: float) -> None:
        """Note how long a call of qrun has taken."""
        self._took.append(seconds)

    @property
    def seconds(self) -> float:
        """The notice, in seconds."""
        return min(self._most, median(self._took) + FROM_ORDER_TO_JOB) if self._took else self._most
