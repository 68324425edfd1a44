"""A tiny study, carried out once, and workers without processes."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest

from cosched_papers.studies.tang2011 import TANG
from cosched_sim.studies.running import carry_out
from cosched_sim.studies.study import Told
from cosched_sim.sweeps.case import Case, run_chunk
from cosched_sim.sweeps.workers import Outcome, Workers
from cosched_sim.warm_up import run_all_kernels
from tests.once import made_once

TINY = {
    "command": "cosched study tang2011 --quick ...", "quick": True, "replications": 1, "seed": 5, "days": 1.0,
    "intrepid": None, "eureka": None,
}  # fmt: skip


@pytest.fixture(scope="session", autouse=True)
def kernels() -> None:
    """Compiled, so that no message about compiling is among what a command says."""
    run_all_kernels()


class Here(Workers):
    """This process in the place of workers, which tests/sim/sweeps has, and soak: nothing has to be loaded."""

    at_once = 1

    def submit(self, cases: Sequence[Case]) -> None:
        self._outcome = Outcome(cases, *run_chunk(cases))

    def next_outcome(self) -> Outcome:
        return self._outcome


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands have no workers either."""
    monkeypatch.setattr("cosched_sim.sweeps.local_workers.local_workers", lambda _: nullcontext(Here()))


def run_tiny(folder: Path, workers: Workers, *, resume: bool = False, told: Told | None = None) -> Path:
    """Carry it out; the folder."""
    carry_out(TANG, TINY, folder, workers, told or Told(print, lambda _: None), resume=resume)
    return folder


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the tiny study, without tables and figures."""

    return made_once(tmp_path_factory, "tiny", lambda folder: run_tiny(folder, Here()))
