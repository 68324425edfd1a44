"""Users' own services on two real Slurm clusters under load: every pair starts together, without hooks."""

import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cosched.cli.own_service import OwnService
from cosched.client import Client
from tests.live.coupled import CoupledWork, unended
from tests.live.workloads import Work, contended
from tests.slurm.coupled import NOTING
from tests.slurm.test_own_services import Side, coupled
from tests.waiting import wait_until

SEED = 20261129
PAIRS, ALONE, NODES = 50, 15, 12
SKEW = 0.1  # seconds, in the median
SETTINGS = {"release_interval": 5, "max_held_fraction": 0.75, "backoff": 1, "try_patience": 3, "poll_interval": 2}

pytestmark = pytest.mark.soak  # single pairs remain


class LoadedSide(Side):
    """An account on a cluster, by the name of its domain."""

    @property
    def name(self) -> str:
        return self.cluster.name

    @property
    def service(self) -> Any:
        return SimpleNamespace(server=f"unix:{OwnService(self.state).socket}")


class Load(CoupledWork[LoadedSide]):
    """Pairs by their users' own services, and other jobs."""

    def submit(self, domain: LoadedSide, work: Work, *options: str) -> str:
        script = NOTING.format(name=work.name or "-", notes=domain.notes, seconds=work.seconds)
        asked = (f"--nodes={work.nodes}", "--output=/dev/null", "--time=5", *options)
        if work.name is None:
            return str(domain.cluster.sbatch(script, *asked))
        lines = "".join(f"#SBATCH {option}\n" for option in asked)
        script = script.replace("\n", f"\n{lines}", 1)
        return domain("submit", "--parsable", "--pair", work.name, "-", text=script).strip()

    def notes(self, domain: LoadedSide) -> Path:
        return domain.notes

    def unended(self, domain: LoadedSide) -> set[str]:
        return {*domain.cluster.squeue("-h", "--format=%i").split(), *unended(domain)}

    def until(self, condition: Callable[[], Any], what: str) -> Any:
        return wait_until(condition, what)


@pytest.fixture(params=["hold", "yield"])
def load(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Load]:
    with coupled(tmp_path, request.param, LoadedSide, nodes=NODES) as sides:
        for side in sides:
            side.change(**SETTINGS)
        for side in sides:
            side("up")
        for side in sides:
            with Client(side.service.server) as client:
                wait_until(lambda c=client: c.domain().peers[0].state == "reachable", "its peer is reachable")
        yield Load(sides)


def test_under_load_every_pair_starts_together_and_every_job_runs_once(load: Load) -> None:
    outcome = load.run(contended(SEED, PAIRS, ALONE))
    assert set(outcome.runs.values()) == {1}
    assert len(outcome.runs) == 2 * (PAIRS + ALONE)
    assert outcome.states == {"completed": 2 * PAIRS}
    assert len(outcome.whys) == len(outcome.times) == PAIRS
    assert outcome.alone() == {}
    skews = sorted(outcome.skews())
    print("skew:", statistics.median(skews), skews[-1])
    assert statistics.median(skews) <= SKEW, skews
