"""A user's own service on a real PBS cluster under load: every pair starts together with its mate on another host."""

from pathlib import Path
from typing import Any

import pytest

from deploy.pbs.lab import PbsCluster
from tests.live.own_load import NODES, SETTINGS, Load, service_of
from tests.live.workloads import TIME_LIMIT, Work
from tests.pbs.test_own_services import LOCAL_PROCESSES, Here, There, coupled

pytestmark = pytest.mark.soak
PBS_LINES = """#PBS -l select={work.nodes}:ncpus=1
#PBS -l walltime={limit}
#PBS -j oe -o /dev/null
"""
LOCAL_LINES = "#COSCHED --nodes={work.nodes} --time=10\n"
SCRIPT = """#!/bin/bash
{lines}id=${{PBS_JOBID:-$COSCHED_JOB_ID}}
echo "${{id%%.*}} {name} $(date +%s.%N)" >> {notes}
sleep {work.seconds}
"""


class LoadedThere(There):
    """An account whose jobs are local processes."""

    name = "eureka"
    lines = LOCAL_LINES

    @property
    def service(self) -> Any:
        return service_of(self.state)

    def submit_work(self, work: Work) -> str:
        pair = () if work.name is None else ("--pair", work.name)
        return self("submit", "--parsable", *pair, "-", text=self.script(work)).strip()

    def script(self, work: Work) -> str:
        lines = self.lines.format(work=work, limit=10 * TIME_LIMIT)
        return SCRIPT.format(lines=lines, work=work, name=work.name or "-", notes=self.notes)

    def queued(self) -> set[str]:
        return set()


class LoadedHere(Here, LoadedThere):
    """An account on a cluster of PBS."""

    lines = PBS_LINES

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.cluster.name

    def submit_work(self, work: Work) -> str:
        if work.name is not None:
            return super().submit_work(work)
        return self.cluster.qsub(self.script(work)).partition(".")[0]

    def queued(self) -> set[str]:
        return {job.partition(".")[0] for job in self.cluster.run("qselect").split()}


def test_under_load_every_pair_starts_together_and_every_job_runs_once(short_path: Path) -> None:
    there = LoadedThere(short_path / "there")
    options = (*LOCAL_PROCESSES, "--slots", str(NODES), "--scheme", "yield")
    with (
        PbsCluster("mira", short_path / "pbs", NODES) as cluster,
        coupled(short_path, cluster, there, *options, kind=LoadedHere) as sides,
    ):
        here, _ = sides
        here.change(**SETTINGS)
        there.change(max_yields=0)  # the other side gives no nodes back
        for side in sides:
            side("up")
        Load(sides).check()
