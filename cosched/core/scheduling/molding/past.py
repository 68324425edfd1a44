"""What a domain learns from its own past: the jobs of its last whole days (molding.md, Prediction)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cosched.core.scheduling.molding.future import DAY, HALF_HOUR, HALF_HOURS, Expected, Future
from cosched.core.scheduling.molding.jobs import MEDIUM, SHORT, Molded

DAYS = 28
SINCE, JOBS = "since", "jobs"


class Past:
    """The jobs of the last DAYS whole days, and of this one.

    `kept` are plain values, another mapping after each change: the day of the first job; by day and class the sums of
    N_opt, of run(N_opt) in s and of moldable jobs, then how many came in each half hour.
    """

    def __init__(self) -> None:
        self.kept: Mapping[str, Any] = {}

    def add(self, job: Molded, *, moldable: bool) -> None:
        """A job was submitted, for the first time."""
        day, at = divmod(job.submitted, DAY)
        of_class = (job.run >= SHORT) + (job.run >= MEDIUM)
        known = self.kept.get(JOBS, {})
        row = [*known.get(f"{day} {of_class}", [0] * (3 + HALF_HOURS))]
        for place, value in enumerate((job.ideal, job.run, moldable)):
            row[place] += value
        row[3 + at // HALF_HOUR] += 1
        recent = {key: values for key, values in known.items() if int(key.split()[0]) >= day - DAYS}
        self.kept = {SINCE: min(day, self.kept.get(SINCE, day)), JOBS: {**recent, f"{day} {of_class}": row}}

    def future(self, now: int) -> Future | None:
        """Return the means over the whole days before this one; None: there is none since the first job."""
        today = now // DAY
        days = range(max(self.kept.get(SINCE, today) + 1, today - DAYS), today)
        return Future([self._expected(days, of_class) for of_class in range(3)]) if days else None

    def _expected(self, days: range, of_class: int) -> Expected:
        jobs, none = self.kept[JOBS], [0] * (3 + HALF_HOURS)
        sums = [sum(column) for column in zip(*(jobs.get(f"{day} {of_class}", none) for day in days), strict=True)]
        means, arrivals, count = sums[:3], sums[3:], sum(sums[3:])
        return Expected(
            tuple(came / len(days) for came in arrivals), *(total / count if count else 1.0 for total in means)
        )
