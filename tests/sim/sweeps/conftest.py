"""A folder with the small sweep, and workers that tests share, since each takes a second to start."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cosched_sim.sweeps.local_workers import local_workers
from cosched_sim.sweeps.workers import Workers
from cosched_sim.warm_up import run_all_kernels
from tests.sim.sweeps.small import SWEEP


@pytest.fixture(scope="session", autouse=True)
def kernels() -> None:
    """Compiled, so that no message about compiling is among what a command says."""
    run_all_kernels()


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    with local_workers(2) as two:
        yield two


@pytest.fixture
def sweep_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Write s.toml to the test's folder, with some of its text replaced."""
    monkeypatch.chdir(tmp_path)

    def write(*replaced: tuple[str, str]) -> str:
        text = SWEEP
        for old, new in replaced:
            assert old in text
            text = text.replace(old, new, 1)
        Path("s.toml").write_text(text)
        return "s.toml"

    return write
