"""Users' own services on two real Slurm clusters under load: every pair starts together, without hooks."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live.own_load import NODES, SETTINGS, Load, service_of
from tests.live.workloads import Work
from tests.slurm.coupled import NOTING
from tests.slurm.test_own_services import Side, coupled

pytestmark = pytest.mark.soak  # single pairs remain


class LoadedSide(Side):
    """An account on a cluster, by the name of its domain."""

    @property
    def name(self) -> str:
        return self.cluster.name

    @property
    def service(self) -> Any:
        return service_of(self.state)

    def submit_work(self, work: Work) -> str:
        script = NOTING.format(name=work.name or "-", notes=self.notes, seconds=work.seconds)
        asked = (f"--nodes={work.nodes}", "--output=/dev/null", "--time=5")
        if work.name is None:
            return str(self.cluster.sbatch(script, *asked))
        lines = "".join(f"#SBATCH {option}\n" for option in asked)
        script = script.replace("\n", f"\n{lines}", 1)
        return self("submit", "--parsable", "--pair", work.name, "-", text=script).strip()

    def queued(self) -> set[str]:
        return set(self.cluster.squeue("-h", "--format=%i").split())


@pytest.fixture(params=["hold", "yield"])
def load(request: pytest.FixtureRequest, short_path: Path) -> Iterator[Load]:
    with coupled(short_path, request.param, LoadedSide, nodes=NODES) as sides:
        for side in sides:
            side.change(**SETTINGS)
        for side in sides:
            side("up")
        yield Load(sides)


def test_under_load_every_pair_starts_together_and_every_job_runs_once(load: Load) -> None:
    load.check()
