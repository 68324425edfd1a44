"""Services of laboratories, and commands to them, without the wait for what they load: see forked.py."""

import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from deploy.lab.keeping import Keeping
from deploy.lab.service import Service
from tests.live.forked import NOTHING, Forked, ran

__all__ = ["forked_services"]


class _Kept:
    """In the place of a laboratory's keeper, for one service: it ends with that."""

    def __init__(self, keeping: Keeping) -> None:
        self._processes: dict[int, Forked] = {}
        close = keeping.close

        def close_all() -> None:
            for pid in self._processes:
                self.end(pid, signal.SIGKILL)
            close()

        keeping.close = close_all

    def spawn(self, argv: Sequence[str], environment: Mapping[str, str], output: Path) -> int:
        process = Forked([*argv[1:]], Path("/"), {**environment}, NOTHING, output, output)
        self._processes[process.pid] = process
        return process.pid

    def exit_code(self, pid: int) -> int | None:
        return self._processes[pid].poll()

    def end(self, pid: int, number: int) -> None:
        self._processes[pid].send_signal(number)
        self._processes[pid].wait()


class _Forked(Service):
    def __init__(self, folder: Path, environment: Mapping[str, str], keeping: Keeping) -> None:
        super().__init__(folder, environment, cast(Any, _Kept(keeping)))

    def try_run(self, *arguments: str, seconds: float = 0) -> subprocess.CompletedProcess[str]:  # noqa: ARG002
        """See Service."""
        return ran([*arguments], Path.cwd(), self.environment)


@pytest.fixture(scope="session", autouse=True)
def forked_services() -> Iterator[None]:
    """For all tests of a folder whose conftest has this fixture."""
    with pytest.MonkeyPatch.context() as patched:
        for module in ("deploy.lab.coupled", "deploy.slurm.lab.coupled"):
            patched.setattr(f"{module}.Service", _Forked)
        yield
