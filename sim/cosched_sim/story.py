"""The events of a replay: the lines of events.jsonl."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cosched.core.job import JobState
from cosched.core.story import ENDED, What
from cosched_sim.workload.jobs import UNKNOWN

if TYPE_CHECKING:
    from cosched_sim.world import World


class StoryLog:
    """Collects the events of paired jobs; the world calls it for each."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def __call__(self, now: int, domain: str, job: str, what: str, detail: dict[str, object]) -> None:
        """Add one event."""
        told = {key: value for key, value in detail.items() if value is not None}
        self.events.append({"time": now, "domain": domain, "job": job, "event": what, **told})

    def with_unpaired(self, world: World) -> list[dict[str, Any]]:
        """Return all events in time order; those of unpaired jobs come from the tables, as kernels run them alone."""
        events = self.events + [event for i in range(len(world.domains)) for event in _unpaired(world, i)]
        return sorted(events, key=lambda event: event["time"])


def _unpaired(world: World, index: int) -> Iterator[dict[str, Any]]:
    domain, first = world.domains[index], world.first[index]
    for row, job_id in enumerate(domain.workload.job_id.tolist()):
        record = world.tables.jobs[first + row]
        if not record["paired"]:
            submit, start, end, state = (int(record[column]) for column in ("submit", "start", "end", "state"))
            yield from of_unpaired(domain.name, str(job_id), submit, start, end, JobState(state))


def of_unpaired(domain: str, job: str, submit: int, start: int, end: int, state: JobState) -> Iterator[dict[str, Any]]:
    """Yield the events of a job without mates; instants may be UNKNOWN."""
    place = {"domain": domain, "job": job}
    yield {"time": submit, **place, "event": What.SUBMITTED}
    if start != UNKNOWN:
        yield {"time": start, **place, "event": What.STARTED}
    if end != UNKNOWN:
        yield {"time": end, **place, "event": ENDED[state]}
