"""What to expect of a run, from a list of all that happened. Slow and obvious; shares nothing with the product."""

import statistics
from fractions import Fraction
from math import floor, sqrt

Told = tuple[int, str, int, float | None]  # seconds, from what, of how many runs, spread


class Site:
    """What happened at a site: runs as (job class, resource, seconds), and statements of times."""

    def __init__(self, kinds: dict[str, str], given: dict[tuple[str, str], int]) -> None:
        self.kinds, self.given = kinds, given
        self.runs: list[tuple[str, str, int]] = []
        self.stated: dict[tuple[str, str], int] = {}

    def ran(self, job_class: str, resource: str, seconds: int) -> None:
        self.runs.append((job_class, resource, seconds))

    def forget(self, job_class: str, resource: str) -> None:
        self.runs = [run for run in self.runs if run[:2] != (job_class, resource)]
        self.stated.pop((job_class, resource), None)

    def state(self, job_class: str, resource: str, seconds: int) -> None:
        self.forget(job_class, resource)
        self.stated[job_class, resource] = seconds

    def seconds(self, job_class: str, resources: set[str]) -> list[int]:
        return [seconds for which, where, seconds in self.runs if which == job_class and where in resources]

    def expect(self, job_class: str, resource: str, requested: int) -> Told:
        own = self.seconds(job_class, {resource})
        if own:
            return of_runs("runs", own)
        if (job_class, resource) in self.stated:
            return self.stated[job_class, resource], "stated", 0, None
        given = self.given.get((job_class, resource))
        alike = {
            other
            for other, kind in self.kinds.items()
            if kind == self.kinds.get(resource) and self.given.get((job_class, other)) == given
        }
        others = self.seconds(job_class, alike)
        if others:
            return of_runs("kind", others)
        return (max(1, requested), "requested", 0, None) if given is None else (given, "stated", 0, None)


def of_runs(source: str, runs: list[int]) -> Told:
    mean = max(1, floor(Fraction(sum(runs), len(runs)) + Fraction(1, 2)))
    spread = None if len(runs) == 1 else sqrt(statistics.variance(runs) * (1 + 1 / len(runs)))
    return mean, source, len(runs), spread
