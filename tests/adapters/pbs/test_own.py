"""PBS beside a user's own service: real gates in bash, and a server that shows what qstat did."""

import asyncio
import getpass
import json
import os
import subprocess
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from cosched.core.protocol import named_mate
from cosched_adapters.batch_job import Phase
from cosched_adapters.manager import End, MustHoldError, NoRequeueError
from cosched_adapters.own.gate_script import gated
from cosched_adapters.pbs.own import GATE, OwnPbsManager, write_words
from cosched_adapters.pbs.settings import PbsSettings
from tests.waiting import until

SCRIPT = b"#!/bin/bash\n#PBS -l select=2\necho $0 $COSCHED_MATES > out\n"
PAIR = {"pair": "run1"}


class Seen(OwnPbsManager):
    """A server with job 0, which runs, as far as the server knows."""

    def __init__(self, folder: Path) -> None:
        super().__init__(PbsSettings(hook_socket=folder / "s.sock", gates=folder / "gates", poll_interval=1))
        self.shown: dict[str, Any] = {
            "Job_Name": "sim", "Job_Owner": f"{getpass.getuser()}@login", "job_state": "R", "qtime": 1,
            "stime": round(time.time()), "exec_vnode": "(n1:ncpus=1)+(n2:ncpus=1)", "Resource_List": {"nodect": 2},
        }  # fmt: skip
        self.seen: list[str] = []
        self._pbs._ask = self._answer  # type: ignore[method-assign]

    async def _answer(self, argv: list[str]) -> bytes:
        ended = self.shown["job_state"] == "F" and "-x" not in argv
        return json.dumps(
            {"nodes": {}} if argv[0] == "pbsnodes" else {"Jobs": {} if ended else {"0.mira": self.shown}}
        ).encode()

    @property
    def job(self):
        return self._register.jobs["0"]

    async def listen(self) -> None:
        async for report in self.reports():
            self.seen.append(type(report).__name__)


class World:
    """Job 0 and its gate."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.manager = folder, Seen(folder)
        (folder / "gates").mkdir()
        (folder / "0.SC").write_bytes(gated(SCRIPT, folder / "gates", GATE))
        (folder / "0.SC").chmod(0o700)
        (folder / "nodefile").write_text("n\nn\n")

    def run(self) -> subprocess.Popen[bytes]:
        of_job = {"PBS_JOBID": "0.mira", "PBS_NODEFILE": str(self.folder / "nodefile")}
        return subprocess.Popen([self.folder / "0.SC"], cwd=self.folder, env={**os.environ, **of_job})

    async def is_(self, phase: Phase) -> None:
        await until(lambda: "0" in self.manager._register.jobs and self.manager.job.phase is phase)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(tmp_path)
    await world.manager.open()
    listening = asyncio.create_task(world.manager.listen())
    yield world
    listening.cancel()
    await world.manager.close()


async def test_a_job_waits_in_its_gate_and_runs_when_it_is_told_so(world):
    write_words(world.folder / "gates", "0", PAIR)
    with world.run() as gate:
        await world.is_(Phase.OFFERED)
        assert (world.manager.job.nodes, world.manager.job.can_yield) == (2, False)
        with pytest.raises(MustHoldError, match="only operators"):
            await world.manager.give_back("0")
        with pytest.raises(NoRequeueError):
            await world.manager.requeue("0")
        assert await world.manager.start("0", time.time() + 0.5)
        await world.is_(Phase.RUNNING)
        assert await asyncio.to_thread(gate.wait) == 0
    assert (world.folder / "out").read_text().split() == [str(world.folder / "0.SC")]
    world.manager.shown |= {"job_state": "F", "Exit_status": 0}
    await world.is_(Phase.ENDED)
    assert world.manager.job.end.how is End.EXITED
    await until(lambda: world.manager.seen[-1:] == ["Ended"])
    assert world.manager.seen == ["Appeared", "Offered", "Started", "Ended"]


async def test_a_job_whose_mate_is_not_written_yet_waits_for_it(world):
    with world.run() as gate:
        told = world.folder / "gates" / "0.told"
        await until(lambda: told.exists() and "ready" in told.read_text())
        assert "0" not in world.manager._register.jobs
        write_words(world.folder / "gates", "0", PAIR)
        await world.is_(Phase.OFFERED)
        await world.manager.relink("0", named_mate("eureka", mate="17"))
        assert (world.folder / "gates" / "0.words").read_text() == "mate=eureka:17\n"
        await world.manager.look()
        assert world.manager.job.named.mate == "17"
        gate.kill()
        await world.is_(Phase.QUEUED)
    assert "Started" not in world.manager.seen


async def test_a_job_that_an_operator_has_queued_again_is_offered_again(world):
    write_words(world.folder / "gates", "0", PAIR)
    with world.run() as gate:
        await world.is_(Phase.OFFERED)
        assert await world.manager.start("0")
        await world.is_(Phase.RUNNING)
        await asyncio.to_thread(gate.wait)
    world.manager.shown |= {"job_state": "Q"}
    await world.is_(Phase.QUEUED)
    world.manager.shown |= {"job_state": "R"}
    await world.manager.look()
    assert world.manager.job.phase is Phase.QUEUED  # what its gate said before does not count
    (world.folder / "0.SC").write_bytes(gated(SCRIPT, world.folder / "gates", GATE))
    with world.run() as gate:
        await world.is_(Phase.OFFERED)
        gate.kill()
