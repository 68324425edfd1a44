"""Work for a coupled laboratory with a PBS cluster, what became of it, and what must be so after it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from cosched.client import Client, Event, Job
from deploy.lab.waiting import wait_for
from deploy.pbs.lab import CoupledLab, Domain
from deploy.pbs.lab.coupled import Pbs
from tests.live.workloads import Outcome, Sides, Work

PATIENCE = 300.0  # seconds; a safety net
ENDED = ("completed", "failed", "cancelled")
STATES = ("queued", "ready", "holding", "running", *ENDED)
NOTING = "echo ${{PBS_JOBID%%.*}}$SLURM_JOB_ID$COSCHED_JOB_ID {name} $(date +%s.%N) >> {notes}; sleep {seconds}"
AGAIN = "its mate started before it: desynchronised"  # why a job starts whose mates run
_INTERVAL = 0.2  # seconds between two looks
_T = TypeVar("_T")


class Coupled:
    """A coupled laboratory that is up, as tests use it; `script` notes a job's id, `name` and begin in `notes`."""

    def __init__(self, lab: CoupledLab, script: str = NOTING) -> None:
        self.lab = lab
        self._script = script
        self.here, self.there, *_ = lab

    def submit(self, domain: Domain, work: Work, *options: str) -> str:
        """Submit a job, which notes when it begins; its id."""
        name = work.pair or work.group or "-"
        script = self._script.format(name=name, notes=domain.notes, seconds=work.seconds)
        return domain.submit(script, work.nodes, work.pair, work.group, *options)

    def run(self, sides: Sides) -> Outcome:
        """Submit the work, to all domains at once, and see it to its end."""
        with ThreadPoolExecutor(len(sides)) as pool:
            ids = list(pool.map(lambda domain, works: [self.submit(domain, w) for w in works], self.lab, sides))
        return self.outcome(*ids)

    def outcome(self, *ids: Sequence[str]) -> Outcome:
        """What became of these jobs of each domain, once they have ended."""
        found = Outcome()
        for domain, jobs in zip(self.lab, ids, strict=True):
            self.until(lambda domain=domain, jobs=jobs: not set(jobs) & unended(domain), f"all ends on {domain.name}")
            self._look(found, domain, set(jobs))
        return found

    def _look(self, found: Outcome, domain: Domain, ids: set[str]) -> None:
        for job, name, at in map(str.split, domain.notes.read_text().splitlines() if domain.notes.exists() else ()):
            if job in ids:
                found.runs[domain.name, job] += 1
                if name != "-":
                    found.times.setdefault(name, []).append(float(at))
        jobs = {job_id: job for job_id, job in known(domain).items() if job_id in ids and named(job)}
        found.states.update(job.state for job in jobs.values())
        for event in story(domain, "started"):
            if (job := jobs.get(str(event.job).rpartition(":")[2])) is not None:
                found.whys.setdefault(named(job), []).append(event.detail["why"])

    def until(self, condition: Callable[[], _T], what: str) -> _T:
        """Wait for a condition; LabError with the ends of the logs."""
        return wait_for(condition, what, PATIENCE, [domain.service.log for domain in self.lab], _INTERVAL)

    def until_state(self, domain: Domain, job_id: str, *states: str) -> Job:
        """Wait until cosched says that a job is in one of these states."""
        found = lambda: (job := known(domain).get(job_id)) is not None and job.state in states and job  # noqa: E731
        return self.until(found, f"{job_id} to be {' or '.join(states)} on {domain.name}") or known(domain)[job_id]

    def check_started_together(self, here: Sequence[str], there: Sequence[str]) -> Outcome:
        """The jobs complete, each ran once, and each with its mate."""
        found = self.outcome(here, there)
        jobs = len(here) + len(there)
        assert found.states == {"completed": jobs}
        assert len(found.runs) == jobs
        self.check_that_jobs_ran_once(found)
        assert found.alone() == {}
        return found

    def check_that_jobs_ran_once(self, found: Outcome) -> None:
        """But for those that PBS was starting as its server was killed: it runs them again, and the record says so.

        These starts are removed from `found.whys`.
        """
        again = {(domain.name, job) for domain in self.lab for job in requeued(domain)} & found.runs.keys()
        assert {job for job, runs in found.runs.items() if runs > 1} <= again
        assert sum(whys.count(AGAIN) for whys in found.whys.values()) <= len(again)
        found.whys = {name: [why for why in whys if why != AGAIN] for name, whys in found.whys.items()}

    def check_nothing_is_left(self) -> None:
        """No job, no node that is offline, held or busy; no fault of a service."""
        for domain in self.lab:
            self.until(lambda domain=domain: not unended(domain), f"the end of all jobs of {domain.name}")
            try:
                wait_for(lambda domain=domain: not domain.left(), f"{domain.name} to be as before", 60)
            finally:
                print(f"left on {domain.name}: {domain.left()!r}")
            assert "Traceback" not in domain.service.log.read_text()


def requeued(domain: Domain) -> set[str]:
    """The jobs that PBS itself has queued again, since it does not know whether they had started."""
    if not isinstance(domain, Pbs):
        return set()
    logs = (path.read_text(errors="replace") for path in domain.cluster.path("server_logs").iterdir())
    return {job for log in logs for job in re.findall(r";(\d+)\.\w+;Requeueing job, substate: 41 ", log)}


def named(job: Job) -> str:
    """The name of a job's group or pair; empty if it has none."""
    return job.group.name if job.group is not None else str(job.mates[0].pair) if job.mates else ""


def known(domain: Domain) -> dict[str, Job]:
    """The jobs that the service knows, those that have ended too."""
    with Client(domain.service.server, timeout=PATIENCE) as client:
        return {job.id: job for job in client.jobs(STATES)}


def unended(domain: Domain) -> set[str]:
    """The jobs that have not ended, by the batch system or by cosched."""
    return domain.queued() | {job_id for job_id, job in known(domain).items() if job.state not in ENDED}


def story(domain: Domain, *kinds: str) -> list[Event]:
    """What happened on a domain, by cosched; of these kinds, or all."""
    with Client(domain.service.server, timeout=PATIENCE) as client:
        return list(client.events(0, kinds=kinds, until_now=True))
