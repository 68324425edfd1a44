"""Jobs for which running ones gave nodes, or were stopped, in vain: their mates could not start then."""

from __future__ import annotations

from dataclasses import dataclass, field

from cosched.core.protocol import JobId

FREE = 3  # times in a row that nobody need wait for
PAUSE, MOST_DOUBLINGS = 60, 6  # seconds, doubled each time after these


@dataclass(slots=True)
class InVain:
    """When nodes may be taken for such a job again: not at its own turn, but when its mate asks, later each time.

    Else two domains that yield could take nodes from running jobs for each other without end.
    """

    _times: dict[JobId, int] = field(default_factory=dict)  # since something has changed for the job
    _until: dict[JobId, int] = field(default_factory=dict)

    def count(self, job: JobId, now: int) -> None:
        """Count one more attempt in vain."""
        times = self._times[job] = self._times.get(job, 0) + 1
        pause = 0 if times <= FREE else PAUSE << min(times - FREE - 1, MOST_DOUBLINGS)
        self._until[job] = now + pause

    def waits(self, job: JobId, now: int, *, asked: bool) -> bool:
        """Return whether nothing is taken for the job now; `asked`: its mate asks for it."""
        return job in self._until and (not asked or now < self._until[job])

    def forget(self, job: JobId) -> None:
        """Note that the job has started or ended, or something about it has changed: it may be in vain no more."""
        self._times.pop(job, None)
        self._until.pop(job, None)
