"""The tools of the scenes: jobs that end on request, pairs that note when they began, and cosched's view of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from cosched.client import Client, Job
from deploy.lab.demo.place import Place
from deploy.lab.demo.screen import Screen
from deploy.lab.waiting import wait_for

_T = TypeVar("_T")
_PATIENCE = 60.0  # seconds to wait for anything
_INTERVAL = 0.1  # seconds between two looks
_STATES = ("queued", "ready", "holding", "running", "completed", "failed", "cancelled")
_PAIRED = "date +%s.%N > {note}\nsleep 1\n"
_UNTIL_TOLD = "until [ -e {word} ]; do sleep 0.1; done\n"


@dataclass(frozen=True)
class Ran:
    """A pair that has run: when its jobs began (seconds since 1970), and the jobs, both in the order of the domains."""

    name: str
    began: tuple[float, ...]
    jobs: tuple[Job, ...]

    @property
    def skew(self) -> float:
        """Seconds between the first instructions of the two jobs."""
        return max(self.began) - min(self.began)


class Stage:
    """Two places, with the actions of the scenes. `restart` gives their services other schemes; `check`: LabError."""

    def __init__(
        self,
        places: Sequence[Place],
        screen: Screen,
        restart: Callable[[Sequence[str]], None],
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self.places, self.screen, self.restart = places, screen, restart
        self.here, self.there = places
        self._check = check
        self._ids: dict[str, dict[str, str]] = {}

    def busy(self, place: Place, nodes: int, name: str = "busy") -> Callable[[], None]:
        """Run a job without a mate there; return the function that ends it."""
        word = place.notes / f"end-{name}-{place.name}"
        place.wait_until_it_runs(place.submit(_UNTIL_TOLD.format(word=word), nodes, name))
        return word.touch

    def submit(self, place: Place, pair: str, nodes: int, name: str = "") -> None:
        """Submit one job of a pair."""
        script = _PAIRED.format(note=self._note(place, pair))
        self._ids.setdefault(pair, {})[place.name] = place.submit(script, nodes, name or pair, pair)

    def _note(self, place: Place, pair: str) -> Path:
        return place.notes / f"began-{pair}"

    def job(self, place: Place, pair: str) -> Job | None:
        """Return the pair's job there, as cosched knows it."""
        job_id = self._ids[pair][place.name]
        with Client(place.service.server) as client:
            return next((job for job in client.jobs(_STATES) if job.id == job_id), None)

    def releases(self, place: Place, pair: str) -> int:
        """Return how many holds of the pair's job there were released by force."""
        job_id = self._ids[pair][place.name]
        with Client(place.service.server) as client:
            return len(list(client.events(0, [job_id], ["released"], until_now=True)))

    def until(self, condition: Callable[[], _T], what: str) -> _T:
        """Wait for a condition; LabError."""
        self._check()
        logs = [log for place in self.places for log in place.logs]
        return wait_for(condition, what, _PATIENCE, logs, _INTERVAL)

    def until_job(self, place: Place, pair: str, condition: Callable[[Job], bool], what: str) -> None:
        """Wait until the condition is true of the pair's job there."""
        self.until(lambda: (job := self.job(place, pair)) and condition(job), f"{pair} {what} on {place.name}")

    def until_held(self, place: Place, pair: str) -> None:
        """Wait until the pair's job there holds its nodes."""
        self.until_job(place, pair, lambda job: job.state == "holding", "to hold")

    def until_run(self, pair: str) -> Ran:
        """Wait until both jobs of a pair have ended."""
        for place in self.places:
            self.until_job(place, pair, lambda job: job.state in ("completed", "failed", "cancelled"), "to end")
        jobs = [job for place in self.places if (job := self.job(place, pair)) is not None]
        began = [float(self._note(place, pair).read_text()) for place in self.places]
        return Ran(pair, tuple(began), tuple(jobs))
