"""Work for a coupled laboratory of Slurm clusters."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from deploy.slurm.lab import CoupledLab, Domain, wait_for
from tests.live.coupled import INTERVAL, PATIENCE, CoupledWork, unended
from tests.live.workloads import Work

_T = TypeVar("_T")
NOTING = """#!/bin/bash
echo "$SLURM_JOB_ID {name} $EPOCHREALTIME" >> {notes}
sleep {seconds}
"""


class Coupled(CoupledWork):
    """A coupled laboratory that is up, as tests use it; `script` notes a job's id, `name` and begin in `notes`."""

    def __init__(self, lab: CoupledLab, script: str = NOTING) -> None:
        super().__init__(lab)
        self.lab = lab
        self._script = script
        self.ids: dict[tuple[str, str], str] = {}  # of the last job of each domain and pair, or group

    def submit(self, domain: Domain, work: Work, *options: str) -> str:
        """See the class above."""
        script = self._script.format(name=work.name or "-", notes=self.notes(domain), seconds=work.seconds)
        options = (f"--nodes={work.nodes}", "--output=/dev/null", *self._comment(domain, work), *options)
        job = str(domain.cluster.sbatch(script, *options))
        if work.name:
            self.ids[domain.name, work.name] = job
        return job

    def _comment(self, domain: Domain, work: Work) -> list[str]:
        others = [other.name for other in self.lab if other is not domain]
        if work.name and len(others) > 1:
            return [f"--comment=cosched:group={work.name}@{'+'.join(others)}"]
        return [f"--comment=cosched:pair={work.name}"] if work.name else []

    def notes(self, domain: Domain) -> Path:
        """See the class above."""
        return domain.cluster.jobs / "notes"

    def unended(self, domain: Domain) -> set[str]:
        """See the class above."""
        return {*domain.cluster.squeue("-h", "--format=%A").split(), *unended(domain)}

    def until(self, condition: Callable[[], _T], what: str) -> _T:
        """See the class above."""
        self.lab.check()
        logs = [log for domain in self.lab for log in (domain.service.log, domain.cluster.controller_log)]
        return wait_for(condition, what, PATIENCE, logs, INTERVAL)
