"""Batch systems with an adapter each, as the promises' tests see them."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cosched.conformance.adapters.reporting import until
from cosched.conformance.adapters.worlds import NODES, Others, World, named
from cosched_adapters.batch_system import BatchSystem
from cosched_adapters.gridengine.manager import GridEngineManager
from cosched_adapters.gridengine.settings import read_settings as read_gridengine_settings
from cosched_adapters.manager import End
from cosched_adapters.mate_fields import words
from cosched_adapters.pbs.manager import PbsManager
from cosched_adapters.pbs.settings import read_settings as read_pbs_settings
from cosched_adapters.slurm.comments import ADOPTABLE, word
from cosched_adapters.slurm.manager import SlurmManager
from cosched_adapters.slurm.settings import read_settings as read_slurm_settings
from deploy.gridengine.lab import GridEngineCluster, install_prolog
from deploy.pbs.lab import PbsCluster, install_hook
from deploy.slurm.lab import clear
from tests.conformance import memory
from tests.conformance.recorded_pbs import RecordedPrograms, RecordedServer
from tests.slurm.managed import clusters


class Memory(World):
    """The batch system in memory."""

    def __init__(self) -> None:
        self.machine = memory.Machine(NODES)

    async def submit(
        self, nodes: int = 2, seconds: float = 600.0, pair: str | None = "p", account: str = "", others: Others = (),
        *, adoptable: bool = False, held: bool = False,
    ) -> str:  # fmt: skip
        mate = named(pair, others)
        return str(self.machine.submit(nodes, seconds, mate, account=account, adoptable=adoptable, held=held))

    async def delete(self, job: str) -> None:
        self.machine.finish(self.machine.jobs[job], End.CANCELLED)

    async def state(self, job: str) -> str:
        return str(self.machine.jobs[job].state)

    async def requeue(self, job: str) -> None:
        self.machine.requeue(self.machine.jobs[job])

    def manager(self, **settings: object) -> BatchSystem:
        return memory.Memory(self.machine, float(str(settings.get("backoff", 30))))

    async def clear(self) -> None:
        for job in self.machine.jobs.values():
            self.machine.finish(job, End.CANCELLED)
        assert self.machine.free == NODES


class RealPbs(World):
    """A real OpenPBS cluster."""

    def __init__(self, cluster: PbsCluster) -> None:
        self.cluster = cluster

    async def submit(
        self, nodes: int = 2, seconds: float = 600.0, pair: str | None = "p", account: str = "", others: Others = (),
        *, adoptable: bool = False, held: bool = False,
    ) -> str:  # fmt: skip
        mate = [f"-l{name}={value}" for name, value in words(named(pair, others)).items() if value]
        options = [f"-lselect={nodes}:ncpus=1", "-lwalltime=1200", *mate]
        options += ["-A", account] if account else []
        options += [*(["-ladoptable=true"] if adoptable else []), *(["-h"] if held else [])]
        job = await asyncio.to_thread(self.cluster.qsub, f"sleep {seconds}", *options)
        return job.partition(".")[0]

    async def delete(self, job: str) -> None:
        await asyncio.to_thread(self.cluster.run, "qdel", job)

    async def state(self, job: str) -> str:
        found = await asyncio.to_thread(self.cluster.job, f"{job}.{self.cluster.name}")
        return {"Q": "queued", "H": "queued", "W": "queued", "F": "ended"}.get(found["job_state"], "running")

    async def requeue(self, job: str) -> None:
        await asyncio.to_thread(self.cluster.run, "qrerun", job)

    def manager(self, **settings: object) -> BatchSystem:
        given = {"hook_socket": str(self.cluster.folder / "hooks.sock"), "bin": str(self.cluster.bin)}
        return PbsManager(read_pbs_settings(self.cluster.folder, given | {"command_timeout": 30} | settings))

    async def clear(self) -> None:
        await asyncio.to_thread(self._clear)

    def _clear(self) -> None:
        cluster = self.cluster
        jobs = cluster.run("qselect").split()
        if jobs:
            cluster.run("qdel", "-Wforce", *jobs)
        cluster.wait_for(lambda: set(cluster.states().values()) == {"free"}, "all nodes to be free")

    async def told(self, job: str, variable: str) -> str | None:
        found = await asyncio.to_thread(self.cluster.job, f"{job}.{self.cluster.name}")
        value = found["Variable_List"].get(variable)
        return None if value is None else str(value)

    async def lose_nodes(self, job: str) -> None:  # noqa: ARG002
        await asyncio.to_thread(self.cluster.kill_mom)

    async def mend_nodes(self) -> None:
        await asyncio.to_thread(self.cluster.revive_mom)
        await asyncio.to_thread(self.cluster.qmgr, "set server scheduling = true")  # else in scheduler_iteration

    async def kill(self, job: str) -> None:  # noqa: ARG002
        await asyncio.to_thread(self.cluster.kill_server)

    async def revive(self) -> None:
        await asyncio.to_thread(self.cluster.start_server)


class RecordedPbs(World):
    """A PBS that answers as was recorded."""

    def __init__(self, server: RecordedServer) -> None:
        self.server = server

    async def submit(
        self, nodes: int = 2, seconds: float = 600.0, pair: str | None = "p", account: str = "", others: Others = (),
        *, adoptable: bool = False, held: bool = False,
    ) -> str:  # fmt: skip
        mate = {name: value for name, value in words(named(pair, others)).items() if value}
        mate |= {"adoptable": "True"} if adoptable else {}
        return await self.server.submit(nodes, seconds, mate, account, held=held)

    async def delete(self, job: str) -> None:
        await self.server.command(["qdel", job])

    async def state(self, job: str) -> str:
        return {"Q": "queued", "F": "ended"}.get(self.server.jobs[job]["job_state"], "running")

    async def requeue(self, job: str) -> None:
        await self.server.requeue(job)

    def manager(self, **settings: object) -> BatchSystem:
        folder = self.server.socket.parent
        given = {"hook_socket": str(self.server.socket), "guard": 0.05, "poll_interval": 1.0}
        manager = PbsManager(read_pbs_settings(folder, given | settings))
        manager._pbs._programs = RecordedPrograms(self.server)  # type: ignore[assignment]
        return manager

    async def clear(self) -> None:
        for job in self.server.jobs:
            await self.delete(job)
        await until(lambda: len(self.server.free) == NODES, lambda: f"free nodes, not {self.server.free}")
        await self.server.settle()

    async def told(self, job: str, variable: str) -> str | None:
        return self.server.variables[job].get(variable)

    async def lose_nodes(self, job: str) -> None:  # noqa: ARG002
        self.server.down = set(self.server.offline)

    async def mend_nodes(self) -> None:
        self.server.down = set()
        self.server.schedule_soon()

    async def kill(self, job: str) -> None:  # noqa: ARG002
        self.server.up = False

    async def revive(self) -> None:
        self.server.up = True


class RealSlurm(World):
    """A real Slurm cluster."""

    def __init__(self, cluster: Any, site: Any) -> None:
        self.cluster, self._site = cluster, site

    async def submit(
        self, nodes: int = 2, seconds: float = 600.0, pair: str | None = "p", account: str = "", others: Others = (),
        *, adoptable: bool = False, held: bool = False,
    ) -> str:  # fmt: skip
        mate = [f"--comment={word(named(pair, others))}"] if pair is not None else []
        mate += [*([f"--comment={ADOPTABLE}"] if adoptable else []), *(["--hold"] if held else [])]
        mate += [f"--account={account}"] if account else []
        options = (f"--nodes={nodes}", "--exclusive", "--output=/dev/null", *mate)
        return str(await asyncio.to_thread(self.cluster.sbatch, f"sleep {seconds}", *options))

    async def delete(self, job: str) -> None:
        await asyncio.to_thread(self.cluster.scancel, job)

    async def state(self, job: str) -> str:
        found = await asyncio.to_thread(self.cluster.state, int(job))
        return {"PENDING": "queued", "CONFIGURING": "queued", "RUNNING": "running"}.get(found, "ended")

    async def requeue(self, job: str) -> None:
        await asyncio.to_thread(self.cluster.scontrol, "requeue", job)

    def manager(self, **settings: object) -> BatchSystem:
        given = {"conf": str(self.cluster.conf), "hook_socket": str(self._site.socket), "command_timeout": 30}
        return SlurmManager(read_slurm_settings(self.cluster.directory, given | settings))

    async def clear(self) -> None:
        await asyncio.to_thread(clear, self.cluster)

    async def lose_nodes(self, job: str) -> None:
        held = (await asyncio.to_thread(self.cluster.job, int(job)))["NodeList"]
        self._broken = self.cluster.scontrol("show", "hostnames", held).split()[0]
        await asyncio.to_thread(self.cluster.down_node, self._broken)

    async def mend_nodes(self) -> None:
        await asyncio.to_thread(self.cluster.resume_node, self._broken)

    async def kill(self, job: str) -> None:
        await asyncio.to_thread(self.cluster.wait_until_saved, int(job))  # Slurm itself forgets younger jobs
        await asyncio.to_thread(self.cluster.kill_controller)

    async def revive(self) -> None:
        await asyncio.to_thread(self.cluster.start_controller)


class RealGridEngine(World):
    """A real Grid Engine cluster: a queue of four slots. A job is shown as running while its prolog waits."""

    def __init__(self, cluster: GridEngineCluster) -> None:
        self.cluster = cluster

    async def submit(
        self, nodes: int = 2, seconds: float = 600.0, pair: str | None = "p", account: str = "", others: Others = (),
        *, adoptable: bool = False, held: bool = False,
    ) -> str:  # fmt: skip
        context = [f"{name}={value}" for name, value in words(named(pair, others)).items() if value]
        context += ["adoptable=true"] if adoptable else []
        options = ["-pe", "nodes", str(nodes), "-l", "h_rt=1200", *(["-ac", ",".join(context)] if context else [])]
        options += [*(["-A", account] if account else []), *(["-h"] if held else [])]
        return await asyncio.to_thread(self.cluster.qsub, f"sleep {seconds}", *options)

    async def delete(self, job: str) -> None:
        await asyncio.to_thread(self.cluster.run, "qdel", job)

    async def state(self, job: str) -> str:
        found = (await asyncio.to_thread(self.cluster.states)).get(job)
        if found is None:
            return "ended"
        return "running" if await asyncio.to_thread(self.cluster.has_begun, job) and "q" not in found else "queued"

    async def requeue(self, job: str) -> None:
        await asyncio.to_thread(self.cluster.run, "qmod", "-rj", job)

    def manager(self, **settings: object) -> BatchSystem:
        given = {"hook_socket": str(self.cluster.folder / "hooks.sock"), "bin": str(self.cluster.bin)}
        given |= {"command_timeout": 30} | settings
        return GridEngineManager(read_gridengine_settings(self.cluster.folder, given))

    async def clear(self) -> None:
        await asyncio.to_thread(self.cluster.clear)

    async def told(self, job: str, variable: str) -> str | None:
        return (await asyncio.to_thread(self.cluster.variables_of, job)).get(variable)

    async def kill(self, job: str) -> None:  # noqa: ARG002
        await asyncio.to_thread(self.cluster.kill_qmaster)

    async def revive(self) -> None:
        await asyncio.to_thread(self.cluster.start_qmaster)


@contextmanager
def gridengine_site() -> Iterator[GridEngineCluster]:
    """A Grid Engine cluster with the prolog."""
    with tempfile.TemporaryDirectory(prefix="sge-") as folder, GridEngineCluster(Path(folder), NODES) as cluster:
        install_prolog(cluster, cluster.folder / "hooks.sock")
        yield cluster


@contextmanager
def pbs_site() -> Iterator[PbsCluster]:
    """A PBS cluster with the hook."""
    with tempfile.TemporaryDirectory(prefix="pbs-") as folder, PbsCluster("mira", Path(folder), NODES) as cluster:
        install_hook(cluster, peers=())  # of any number
        yield cluster


def slurm() -> Any:
    """A Slurm cluster with hooks, as a context."""
    return clusters("intrepid", nodes=NODES, cpus=1)
