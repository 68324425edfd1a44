"""Work for a laboratory of coupled batch systems, and what must be so after it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deploy.lab.coupled import CoupledLab, Domain, Pbs
from deploy.lab.waiting import wait_for
from tests.live.coupled import INTERVAL, PATIENCE, CoupledWork, unended
from tests.live.workloads import Outcome, Work, contended

NOTING = "echo ${{PBS_JOBID%%.*}}$SLURM_JOB_ID$COSCHED_JOB_ID {name} $(date +%s.%N) >> {notes}; sleep {seconds}"
AGAIN = "its mate started before it: desynchronised"  # why a job starts whose mates run


class Coupled(CoupledWork):
    """A coupled laboratory that is up, as tests use it; `script` notes a job's id, `name` and begin in `notes`."""

    def __init__(self, lab: CoupledLab, script: str = NOTING) -> None:
        super().__init__(lab)
        self.lab = lab
        self._script = script

    def submit(self, domain: Domain, work: Work, *options: str) -> str:
        script = self._script.format(name=work.name or "-", notes=domain.notes, seconds=work.seconds)
        named = (None, work.name) if len(self.domains) > 2 else (work.name, None)  # a pair's, or a group's
        return domain.submit(script, work.nodes, *named, *options)

    def notes(self, domain: Domain) -> Path:
        return domain.notes

    def unended(self, domain: Domain) -> set[str]:
        return domain.queued() | unended(domain)

    def until(self, condition: Callable[[], Any], what: str) -> Any:
        return wait_for(condition, what, PATIENCE, [domain.service.log for domain in self.lab], INTERVAL)

    def check_pair(self, work: Work, *, reverse: bool) -> None:
        """The jobs of a pair start together; `reverse`: the last domain's is submitted first."""
        domains = tuple(self.lab)[:: -1 if reverse else 1]
        ids = {domain.name: [self.submit(domain, work)] for domain in domains}
        self.check_started_together(*(ids[domain.name] for domain in self.lab))

    def check_contention(self, pairs: int, alone: int) -> None:
        """All jobs of a workload run once, its pairs together; print how far apart they start."""
        outcome = self.run(contended(20110913, pairs, alone, most_nodes=2))
        assert set(outcome.runs.values()) == {1}
        assert len(outcome.runs) == 2 * (pairs + alone)
        assert len(outcome.whys) == len(outcome.times) == pairs
        assert outcome.alone() == {}
        print(f"starts at most {1000 * max(outcome.skews()):.0f} ms apart")

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
            self.until(lambda domain=domain: not self.unended(domain), f"the end of all jobs of {domain.name}")
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
