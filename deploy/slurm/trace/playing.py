"""Plays a cut through two real clusters: submits each job at its time, by sbatch, with its pair's name."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

from cosched.client import Client, Job
from deploy.slurm.lab import CoupledLab, Domain, Options, wait_for
from deploy.slurm.lab.configuration import QUICK
from deploy.slurm.trace.controller_log import LOGGED, Story, read_stories
from deploy.slurm.trace.cut import LIMIT_STEP, Cut

ENDED = ("completed", "failed", "cancelled")
_TOGETHER = ("its holding mate started", "its mate could start", "at its slot")  # or asked by the mate's domain
_INTERVAL = 0.2  # seconds between two checks whether all jobs have ended
_PATIENCE = 120.0  # seconds in addition to the time of all jobs one after the other
_SCRIPT = """#!/bin/bash
echo "$SLURM_JOB_ID $EPOCHREALTIME" >> {notes}.begun
sleep {seconds:.3f}
echo "$SLURM_JOB_ID $EPOCHREALTIME" >> {notes}.over
"""


@dataclass(frozen=True, slots=True)
class Played:
    """One job. Times are in seconds since 1970: the story is slurmctld's, first and last instruction are its own."""

    job_id: str
    begun: float
    over: float
    runs: int
    story: Story
    record: Job | None  # as cosched knows it; None: it has no mate
    why: str | None  # why it started, by cosched's record

    @property
    def together(self) -> bool:
        """Whether cosched started it with its mate."""
        return self.why is not None and (self.why.startswith("asked by ") or self.why in _TOGETHER)

    @property
    def launch(self) -> float:
        """Seconds from getting the nodes for its run to its first instruction."""
        return self.begun - self.story.selected[-1]

    @property
    def end(self) -> float:
        """Seconds from its last instruction until slurmctld had noted its end."""
        return self.story.ended - self.over


@dataclass(frozen=True, slots=True)
class Side:
    """The results of one cluster's jobs, in their order; `releases`: how many holds were released by force."""

    jobs: Sequence[Played]
    releases: int


@dataclass(frozen=True, slots=True)
class Play:
    """The clusters' results for a cut, and the instant at which it began, in seconds since 1970."""

    began: float
    sides: Sequence[Side]


def laboratory(cut: Cut, schemes: Sequence[str], **settings: Any) -> CoupledLab:
    """Return clusters for a cut; `settings` are those of `CoupledLab` for the services."""
    quick = f"SchedulerParameters={QUICK},bf_resolution=1"  # plan in seconds: a minute is hours of the trace
    lines = (quick, *LOGGED)
    each = {name: Options(nodes=nodes, lines=lines) for name, nodes in zip(cut.names, cut.nodes, strict=True)}
    return CoupledLab(names=cut.names, schemes=schemes, options={"each": each}, heartbeat_interval=1, **settings)


def play(lab: CoupledLab, cut: Cut, name: str) -> Play:
    """Play a cut under a unique name in this laboratory. LabError, also if jobs do not end."""
    logged = [domain.cluster.controller_log.stat().st_size for domain in lab]
    began, interrupted = time.time(), Event()
    with ThreadPoolExecutor(len(cut.names)) as pool:
        try:
            submit_all = partial(_submit_all, lab, cut, name, began, interrupted)
            ids = list(pool.map(submit_all, range(len(cut.names))))
        finally:
            interrupted.set()
    _wait_for_ends(lab, cut, ids, name)
    return Play(began, [_side(*of, name) for of in zip(lab, ids, logged, strict=True)])


def _submit_all(lab: CoupledLab, cut: Cut, name: str, began: float, interrupted: Event, number: int) -> list[str]:
    """Submit a domain's jobs, each at its time, unless interrupted; return their ids."""
    domain, jobs, pairs = lab[cut.names[number]], cut.workloads[number], cut.pairs(number)
    ids = []
    for row, submit in enumerate((jobs.submit / cut.speed).tolist()):
        if interrupted.wait(max(0.0, began + submit - time.time())):
            break
        comment = [f"--comment=cosched:pair={name}-{pairs[row]}"] if row in pairs else []
        minutes = int(jobs.requested[row]) // (cut.speed * LIMIT_STEP)
        options = (f"--nodes={jobs.nodes[row]}", f"--time={minutes}", f"--job-name={jobs.job_id[row]}", *comment)
        script = _SCRIPT.format(notes=name, seconds=jobs.run[row] / cut.speed)
        ids.append(str(domain.cluster.sbatch(script, "--output=/dev/null", *options)))
    return ids


def _wait_for_ends(lab: CoupledLab, cut: Cut, ids: Sequence[Sequence[str]], name: str) -> None:
    patience = _PATIENCE + sum(float(jobs.run.sum()) for jobs in cut.workloads) / cut.speed
    for domain, its in zip(lab, ids, strict=True):
        logs = [log for each in lab for log in (each.service.log, each.cluster.controller_log)]
        what = f"all ends on {domain.name}"
        wait_for(partial(_all_ended, lab, domain, its, name), what, patience, logs, _INTERVAL)


def _all_ended(lab: CoupledLab, domain: Domain, ids: Sequence[str], name: str) -> bool:
    lab.check()
    if not set(ids) <= {job for job, _ in _notes(domain, f"{name}.over")}:
        return False
    return all(job.state in ENDED for job in _known(domain).values()) and not domain.cluster.squeue("-h")


def _side(domain: Domain, ids: Sequence[str], logged: int, name: str) -> Side:
    with domain.cluster.controller_log.open() as log:
        log.seek(logged)
        stories = read_stories(log.read())
    begun, over = _notes(domain, f"{name}.begun"), _notes(domain, f"{name}.over")
    first, last = dict(reversed(begun)), dict(over)
    runs = [job for job, _ in begun]
    known, (whys, releases) = _known(domain), _told(domain, set(ids))
    jobs = [Played(id, first[id], last[id], runs.count(id), stories[id], known.get(id), whys.get(id)) for id in ids]
    return Side(jobs, releases)


def _told(domain: Domain, ids: set[str]) -> tuple[dict[str, str], int]:
    """Return why the paired ones of these jobs started, and the number of releases, by the domain's events."""
    whys, releases = {}, 0
    with Client(domain.service.server) as client:
        for event in client.events(0, kinds=["started", "released"], until_now=True):
            job = str(event.job).rpartition(":")[2]
            if job in ids and event.kind == "released":
                releases += 1
            elif job in ids:
                whys[job] = event.detail["why"]
    return whys, releases


def _known(domain: Domain) -> dict[str, Job]:
    with Client(domain.service.server) as client:
        return {job.id: job for job in client.jobs(["queued", "ready", "holding", "running", *ENDED])}


def _notes(domain: Domain, name: str) -> list[tuple[str, float]]:
    """Return what jobs have noted in a file, in its order: id and time."""
    path: Path = domain.cluster.jobs / name
    lines = path.read_text().splitlines() if path.exists() else []
    return [(job, float(at)) for job, at in (line.split() for line in lines)]
