"""What a domain learns from its own past: the jobs of its last whole days (molding.md, Prediction)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cosched_papers.molding.curves import MILLIONTHS, Downey
from cosched_papers.molding.future import Expected, Future
from cosched_papers.molding.jobs import Molded
from cosched_papers.molding.kernels.times import DAY, HALF_HOUR, HALF_HOURS, MEDIUM, SHORT

DAYS = 28
SINCE, JOBS, CURVES = "since", "jobs", "curves"


class Past:
    """The jobs of the last DAYS whole days, and of this one.

    `kept` are plain values, another mapping after each change: the day of the first job; by day and class the sums of
    N_opt, of run(N_opt) in s and of moldable jobs, then how many came in each half hour; by day how many jobs have a
    curve of Downey's, and the sums of A and sigma, in millionths.
    """

    def __init__(self) -> None:
        self.kept: Mapping[str, Any] = {}

    def add(self, job: Molded, *, moldable: bool) -> None:
        """A job was submitted, for the first time."""
        day, at = divmod(job.submitted, DAY)
        of_class = (job.run >= SHORT) + (job.run >= MEDIUM)
        half_hours = [at // HALF_HOUR == half for half in range(HALF_HOURS)]
        curve = job.how.curve if job.how is not None else None
        self.kept = {
            SINCE: min(day, self.kept.get(SINCE, day)),
            JOBS: self._with(JOBS, f"{day} {of_class}", (job.ideal, job.run, moldable, *half_hours)),
            CURVES: self._with(CURVES, f"{day}", (1, *curve) if isinstance(curve, Downey) else (0, 0, 0)),
        }

    def _with(self, of: str, key: str, values: Sequence[int]) -> Mapping[str, Sequence[int]]:
        """Return the sums with these values on this day, without those of days too long ago."""
        known, day = self.kept.get(of, {}), int(key.split()[0])
        recent = {key: sums for key, sums in known.items() if int(key.split()[0]) >= day - DAYS}
        sums = known.get(key, [0] * len(values))
        return {**recent, key: [total + value for total, value in zip(sums, values, strict=True)]}

    def future(self, now: int) -> Future | None:
        """Return the means over the whole days before this one; None: there is none since the first job."""
        today = now // DAY
        days = range(max(self.kept.get(SINCE, today) + 1, today - DAYS), today)
        if not days:
            return None
        curves, *sums = self._sums(CURVES, (f"{day}" for day in days), 3)
        curve = [total / (curves * MILLIONTHS) for total in sums if curves]
        return Future([self._expected(days, of_class, curve) for of_class in range(3)])

    def _expected(self, days: range, of_class: int, curve: Sequence[float]) -> Expected:
        sums = self._sums(JOBS, (f"{day} {of_class}" for day in days), 3 + HALF_HOURS)
        means, arrivals, count = sums[:3], sums[3:], sum(sums[3:])
        return Expected(
            tuple(came / len(days) for came in arrivals), *(total / count if count else 1.0 for total in means), *curve
        )

    def _sums(self, of: str, keys: Iterable[str], length: int) -> list[int]:
        known = self.kept.get(of, {})
        return [sum(column) for column in zip(*(known.get(key, [0] * length) for key in keys), strict=True)]
