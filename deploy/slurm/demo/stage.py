"""The tools of the scenes: jobs that end on request, pairs that note when they began, and cosched's view of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from cosched.client import Client, Job
from deploy.slurm.demo.screen import Screen
from deploy.slurm.lab import CoupledLab, Domain, wait_for

_T = TypeVar("_T")
_PATIENCE = 60.0  # seconds to wait for anything
_INTERVAL = 0.1  # seconds between two looks
_STATES = ("queued", "ready", "holding", "running", "completed", "failed", "cancelled")
_PAIRED = "#!/bin/bash\necho $EPOCHREALTIME > {note}\nsleep 1\n"
_UNTIL_TOLD = "#!/bin/sh\nuntil [ -e {word} ]; do sleep 0.1; done\n"


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
    """The laboratory, with the actions of the scenes."""

    def __init__(self, lab: CoupledLab, screen: Screen) -> None:
        self.lab = lab
        self.screen = screen
        self.here, self.there = lab
        self._ids: dict[str, dict[str, int]] = {}

    def busy(self, domain: Domain, nodes: int, name: str = "busy") -> Callable[[], None]:
        """Run a job without a mate there; return the function that ends it."""
        word = domain.cluster.jobs / f"end-{name}-{domain.name}"
        job = domain.cluster.sbatch(_UNTIL_TOLD.format(word=word), f"--nodes={nodes}", f"--job-name={name}")
        domain.cluster.wait_for_state(job, "RUNNING")
        return word.touch

    def submit(self, domain: Domain, pair: str, nodes: int, name: str = "") -> None:
        """Submit one job of a pair."""
        script = _PAIRED.format(note=self._note(domain, pair))
        options = (f"--comment=cosched:pair={pair}", f"--nodes={nodes}", f"--job-name={name or pair}")
        self._ids.setdefault(pair, {})[domain.name] = domain.cluster.sbatch(script, *options)

    def _note(self, domain: Domain, pair: str) -> Path:
        return domain.cluster.jobs / f"began-{pair}"

    def job(self, domain: Domain, pair: str) -> Job | None:
        """Return the pair's job there, as cosched knows it."""
        job_id = str(self._ids[pair][domain.name])
        with Client(domain.service.server) as client:
            return next((job for job in client.jobs(_STATES) if job.id == job_id), None)

    def releases(self, domain: Domain, pair: str) -> int:
        """Return how many holds of the pair's job there were released by force."""
        job_id = str(self._ids[pair][domain.name])
        with Client(domain.service.server) as client:
            return len(list(client.events(0, [job_id], ["released"], until_now=True)))

    def until(self, condition: Callable[[], _T], what: str) -> _T:
        """Wait for a condition; LabError."""
        self.lab.check()
        logs = [log for domain in self.lab for log in (domain.service.log, domain.cluster.controller_log)]
        return wait_for(condition, what, _PATIENCE, logs, _INTERVAL)

    def until_job(self, domain: Domain, pair: str, condition: Callable[[Job], bool], what: str) -> None:
        """Wait until the condition is true of the pair's job there."""
        self.until(lambda: (job := self.job(domain, pair)) and condition(job), f"{pair} {what} on {domain.name}")

    def until_held(self, domain: Domain, pair: str) -> None:
        """Wait until the pair's job there holds its nodes."""
        self.until_job(domain, pair, lambda job: job.state == "holding", "to hold")

    def until_run(self, pair: str) -> Ran:
        """Wait until both jobs of a pair have ended."""
        for domain in self.lab:
            self.until_job(domain, pair, lambda job: job.state in ("completed", "failed", "cancelled"), "to end")
        jobs = [job for domain in self.lab if (job := self.job(domain, pair)) is not None]
        began = [float(self._note(domain, pair).read_text()) for domain in self.lab]
        return Ran(pair, tuple(began), tuple(jobs))
