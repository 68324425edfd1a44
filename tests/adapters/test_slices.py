"""While a long queue is read, others have their turn: each job is a slice here, however fast it is read."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cosched_adapters import slices
from cosched_adapters.manager import Ended, ManagerError
from cosched_adapters.pbs.calls import Pbs
from cosched_adapters.pbs.commands import parse_jobs
from cosched_adapters.pbs.manager import PbsManager
from cosched_adapters.pbs.settings import read_settings as pbs_settings
from cosched_adapters.programs import Failure
from cosched_adapters.slurm.calls import Slurm
from cosched_adapters.slurm.manager import SlurmManager
from cosched_adapters.slurm.settings import read_settings as slurm_settings

from cosched.service.manager.runner import Runner

RECORDED = Path(__file__).parent
JOBS, ALL = 100, 98  # others have their turn a little less often


class Printing:
    """Prints the same whatever is asked for, or what a function says."""

    def __init__(self, printed: bytes | Callable[[Sequence[str]], bytes]) -> None:
        self._printed = printed

    async def run(self, argv: Sequence[str], failure: Failure, fine: Collection[int] = (0,)) -> bytes:  # noqa: ARG002
        return self._printed if isinstance(self._printed, bytes) else self._printed(argv)


@pytest.fixture(autouse=True)
def _each_is_a_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(0, slices.SLICE)
    monkeypatch.setattr(slices.time, "monotonic", lambda: next(clock))


@contextmanager
def others() -> Iterator[list[int]]:
    """How often others have their turn meanwhile."""
    turns = [0]

    async def count() -> None:
        while True:
            await asyncio.sleep(0)
            turns[0] += 1

    counting = asyncio.ensure_future(count())
    yield turns
    counting.cancel()


def of_slurm(name: str) -> bytes:
    """A hundred rows of what was recorded."""
    printed = (RECORDED / "slurm" / "recorded" / f"{name}.txt").read_bytes()
    first = printed[: printed.index(b"\n") + 1]
    return b"".join(b"%-11d" % (1000 + number) + first[11:] for number in range(JOBS))


def of_pbs() -> bytes:
    queue = json.loads((RECORDED / "pbs" / "recorded" / "queue.json").read_text())
    job = queue["Jobs"]["0.mira"]
    pairs = ({**job, "Resource_List": {**job["Resource_List"], "pair": f"p{number}"}} for number in range(JOBS))
    return json.dumps({**queue, "Jobs": {f"{n}.mira": pair for n, pair in enumerate(pairs)}}, indent="\t").encode()


def slurm(folder: Path) -> SlurmManager:
    made = SlurmManager(slurm_settings(folder, {}))
    printed = {True: of_slurm("details"), False: of_slurm("queue")}
    made._slurm._programs = Printing(lambda argv: printed["-j" in argv])  # type: ignore[assignment]
    return made


async def test_the_queue_of_slurm_is_read_in_slices(tmp_path: Path) -> None:
    calls: Slurm = slurm(tmp_path)._slurm
    with others() as turns:
        assert len(await calls.queue()) == JOBS
        assert turns[0] >= ALL
        assert len(await calls.details(["1"])) == JOBS
        assert turns[0] >= 2 * ALL


async def test_the_queue_of_pbs_is_read_in_slices(tmp_path: Path) -> None:
    calls = Pbs(pbs_settings(tmp_path, {}))
    calls._programs = Printing(of_pbs())  # type: ignore[assignment]
    calls._connection._broken = True
    with others() as turns:
        found = await calls.queue()
        assert turns[0] >= ALL
    assert found == parse_jobs(of_pbs())
    assert len(found) == JOBS


@pytest.mark.parametrize("system", ["slurm", "pbs"])
async def test_jobs_that_are_new_are_taken_up_in_slices(tmp_path: Path, system: str) -> None:
    manager: Any = slurm(tmp_path) if system == "slurm" else PbsManager(pbs_settings(tmp_path, {}))
    with others() as turns:
        await manager._learn([str(1 + n) for n in range(JOBS)] if system == "slurm" else parse_jobs(of_pbs()))
        read = ALL if system == "slurm" else 0
        assert turns[0] >= read + ALL


async def test_what_a_manager_reports_at_once_is_heard_in_slices() -> None:
    class Manager:
        async def reports(self) -> Any:
            for number in range(JOBS):
                yield number

    class Work:
        heard: list[Ended] = []  # noqa: RUF012

        def hear(self, report: Any) -> None:
            self.heard.append(report)

        async def cancel(self, job: str) -> None:
            """Nothing is to be ended."""

    work: Any = Work()
    runner = Runner(None, Manager(), work, None)  # type: ignore[arg-type]
    with others() as turns:
        await runner._read()
        assert turns[0] >= ALL
    assert work.heard == list(range(JOBS))


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        (b"qstat: what?", "Expecting {"),
        (b'{"timestamp": 1, "Jobs": {"1.mira": {"Job_Name": "x"}', "Expecting ,"),
        (b'{"timestamp": 1 "Jobs": {}}', "Expecting ,"),
        (b"{", "Expecting value"),
        (b"\xff", "can't decode"),
    ],
)
def test_what_is_no_json_is_an_error_wherever_it_ends(printed: bytes, said: str) -> None:
    with pytest.raises(ManagerError, match=f"^PBS has printed no JSON: .*{said}"):
        parse_jobs(printed)


@pytest.mark.parametrize("printed", [b"", b"{}", b'{"Jobs": []}', b'{"Jobs":{}}', b' { "a" : {"Jobs": {"1": {}}} } '])
def test_no_jobs_may_be_printed(printed: bytes) -> None:
    assert parse_jobs(printed) == []
