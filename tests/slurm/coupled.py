"""Work for a coupled laboratory, and what became of it: by the jobs' own notes, and by what cosched says."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from cosched.client import Client, Job
from deploy.slurm.lab import CoupledLab, Domain, wait_for
from tests.live.workloads import Outcome, Sides, Work

PATIENCE = 240.0  # seconds; a safety net
INTERVAL = 0.2  # seconds between two looks
ENDED = ("completed", "failed", "cancelled")
STATES = ("queued", "ready", "holding", "running", *ENDED)
T = TypeVar("T")
NOTING = """#!/bin/bash
echo "$SLURM_JOB_ID {name} $EPOCHREALTIME" >> {notes}
sleep {seconds}
"""


class Coupled:
    """A coupled laboratory that is up, as tests use it; `script` notes a job's id, `name` and begin in `notes`."""

    def __init__(self, lab: CoupledLab, script: str = NOTING) -> None:
        self.lab = lab
        self._script = script
        self.here, self.there, *_ = lab
        self.ids: dict[tuple[str, str], str] = {}  # of the last job of each domain and pair, or group

    def submit(self, domain: Domain, work: Work, *options: str) -> str:
        """Submit a job, which notes when it begins; its id."""
        name = work.pair or work.group
        script = self._script.format(name=name or "-", notes=domain.cluster.jobs / "notes", seconds=work.seconds)
        options = (f"--nodes={work.nodes}", "--output=/dev/null", *self._comment(domain, work), *options)
        job = str(domain.cluster.sbatch(script, *options))
        if name:
            self.ids[domain.name, name] = job
        return job

    def _comment(self, domain: Domain, work: Work) -> list[str]:
        if work.group:
            others = "+".join(other.name for other in self.lab if other is not domain)
            return [f"--comment=cosched:group={work.group}@{others}"]
        return [f"--comment=cosched:pair={work.pair}"] if work.pair else []

    def run(self, sides: Sides) -> Outcome:
        """Submit the work, to all clusters at once, and see it to its end."""
        with ThreadPoolExecutor(len(sides)) as pool:
            ids = list(pool.map(lambda domain, works: [self.submit(domain, w) for w in works], self.lab, sides))
        return self.outcome(*ids)

    def outcome(self, *ids: Sequence[str]) -> Outcome:
        """What became of these jobs of each cluster, once they have ended."""
        found = Outcome()
        for domain, jobs in zip(self.lab, ids, strict=True):
            self.until(lambda domain=domain, jobs=jobs: not set(jobs) & queued(domain), f"all ends on {domain.name}")
            self._look(found, domain, set(jobs))
        return found

    def _look(self, found: Outcome, domain: Domain, ids: set[str]) -> None:
        notes = domain.cluster.jobs / "notes"
        lines = notes.read_text().splitlines() if notes.exists() else []  # there is none before the first job
        for job, name, at in map(str.split, lines):
            if job in ids:
                found.runs[domain.name, job] += 1
                if name != "-":
                    found.times.setdefault(name, []).append(float(at))
        jobs = {job_id: job for job_id, job in known(domain).items() if job_id in ids}
        found.states.update(job.state for job in jobs.values())
        with Client(domain.service.server, timeout=PATIENCE) as client:
            for event in client.events(0, kinds=["started"], until_now=True):
                if (job := jobs.get(str(event.job).rpartition(":")[2])) is not None:
                    name = job.group.name if job.group is not None else str(job.mates[0].pair)
                    found.whys.setdefault(name, []).append(event.detail["why"])

    def job(self, domain: Domain, job_id: str) -> Job | None:
        """A job as cosched knows it, if it does."""
        return known(domain).get(job_id)

    def until(self, condition: Callable[[], T], what: str) -> T:
        """Wait for a condition; LabError with the ends of the logs."""
        self.lab.check()
        logs = [log for domain in self.lab for log in (domain.service.log, domain.cluster.controller_log)]
        return wait_for(condition, what, PATIENCE, logs, INTERVAL)

    def until_job(self, domain: Domain, job_id: str, condition: Callable[[Job], bool], what: str) -> Job:
        """Wait until something is true of a job, as cosched knows it."""
        return self.until(lambda: (job := self.job(domain, job_id)) and condition(job) and job, f"{job_id} {what}")

    def until_state(self, domain: Domain, job_id: str, state: str) -> Job:
        """Wait until cosched says that a job is in this state."""
        return self.until_job(domain, job_id, lambda job: job.state == state, f"to be {state} on {domain.name}")


def known(domain: Domain) -> dict[str, Job]:
    """The jobs that the service knows, those that have ended too."""
    with Client(domain.service.server, timeout=PATIENCE) as client:
        return {job.id: job for job in client.jobs(STATES)}


def queued(domain: Domain) -> set[str]:
    """The jobs that have not ended, by Slurm or by cosched."""
    unended = (job_id for job_id, job in known(domain).items() if job.state not in ENDED)
    return {*domain.cluster.squeue("-h", "--format=%i").split(), *unended}
