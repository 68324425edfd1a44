"""Two or three coupled domains with services: clusters of PBS, Slurm and Grid Engine, and local processes.

with CoupledLab(folder, ("pbs", "slurm"), ("hold", "yield")) as lab:
    here, there = (domain.submit("sleep 1", pair="flow") for domain in lab)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from deploy.gridengine.lab import GridEngineCluster, install_prolog
from deploy.gridengine.lab.cluster import free_port
from deploy.lab.keeping import Keeping
from deploy.lab.service import Sections, Service, start_together
from deploy.pbs.lab.cluster import PbsCluster
from deploy.pbs.lab.installed_hook import install_hook
from deploy.slurm.lab import CoupledLab as SlurmLab
from deploy.slurm.lab.coupled import GATE_LEAD

NAMES = ("mira", "eureka", "polaris")
UNHURRIED = {
    "peer_timeout": 30,
    "peer_patience": 60,
    "peer_grace": 60,
    "heartbeat_interval": 1,
    "successor_patience": 0,
}
_OF_MANAGER = ("backoff", "try_patience", "poll_interval")
_PATH = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


class Domain(ABC):
    """A domain with a service; `folder` has its files, and `notes` is for its jobs. `peers`: the other domains."""

    kind: str
    names_mate: tuple[str, ...] = ()  # the option of a job that names its mate by a word

    def __init__(self, name: str, peers: Sequence[str], folder: Path, keeping: Keeping, nodes: int) -> None:
        self.name, self.peers, self.folder, self.nodes = name, peers, folder, nodes
        self.notes = folder / "notes"
        self.port = free_port()
        self.service = Service(folder, _PATH, keeping)

    def start(self, stack: ExitStack) -> None:  # noqa: B027
        """Start its batch system, if that is not the service itself."""

    @abstractmethod
    def manager(self) -> dict[str, object]:
        """Return the manager's own settings."""

    def submit(
        self, script: str, nodes: int = 1, pair: str | None = None, group: str | None = None, *options: str
    ) -> str:
        """Submit the lines of a bash script; return the job's id.

        `group` has a job on each domain. `options`: more for the command that submits.
        """
        mate = self._pair(pair) if pair else self._group(group) if group else []
        return self._submit(script, nodes, *mate, *options)

    @abstractmethod
    def _submit(self, script: str, nodes: int, *options: str) -> str:
        """See `submit`; `options` name the job's mate, too."""

    def _pair(self, name: str) -> list[str]:
        return [option.format(f"pair={name}") for option in self.names_mate]

    def _group(self, name: str) -> list[str]:
        return [option.format(f"group={name}@{'+'.join(self.peers)}") for option in self.names_mate]

    def queued(self) -> set[str]:
        """Return the jobs that have not ended, by the batch system."""
        return set()

    def left(self) -> str:
        """Return what is not as it was before all jobs, by the batch system; empty: nothing."""
        return ""

    def clear(self) -> None:
        """Cancel all jobs."""
        for job in self.service.ask("queue"):
            self.service.try_run("cancel", str(job["id"]))


class Pbs(Domain):
    """A PBS cluster."""

    kind = "pbs"
    names_mate = ("-l{}",)

    def start(self, stack: ExitStack) -> None:
        self.cluster = stack.enter_context(PbsCluster(self.name, self.folder / "pbs", self.nodes))
        install_hook(self.cluster, self.peers)
        self.cluster.wait_for_state(self.cluster.qsub("true"), "F")  # a service's list of jobs leaves out job 0

    def manager(self) -> dict[str, object]:
        cluster = self.cluster
        return {"bin": str(cluster.bin), "hook_socket": str(cluster.folder / "hooks.sock"), "command_timeout": 30}

    def _submit(self, script: str, nodes: int, *options: str) -> str:
        common = f"-lselect={nodes}:ncpus=1", "-lwalltime=600", "-o/dev/null"
        return self.cluster.qsub(script, *common, *options).partition(".")[0]

    def queued(self) -> set[str]:
        return {job.partition(".")[0] for job in self.cluster.run("qselect").split()}

    def left(self) -> str:
        busy = {node: state for node, state in self.cluster.states().items() if state != "free"}
        return " ".join(map(str, (self.queued() or "", busy or "", self.cluster.holders() or ""))).strip()

    def clear(self) -> None:
        if jobs := self.cluster.run("qselect").split():
            self.cluster.run("qdel", "-Wforce", *jobs)


class Slurm(Domain):
    """A Slurm cluster."""

    kind = "slurm"
    names_mate = ("--comment=cosched:{}",)

    def start(self, stack: ExitStack) -> None:
        options = {"nodes": self.nodes}
        lab = SlurmLab(names=(self.name,), schemes=("hold",), services=False, options=options, patience=300)
        self.lab = stack.enter_context(lab)[self.name]
        self.service = self.lab.service
        self.notes = self.lab.cluster.jobs / "notes"

    def manager(self) -> dict[str, object]:
        hooks, conf = self.lab.hooks, str(self.lab.cluster.conf)
        sockets = {"hook_socket": str(hooks.socket), "waiting_folder": str(hooks.waiting)}
        return {"conf": conf, "gate_lead": GATE_LEAD, "command_timeout": 30, **sockets}

    def _submit(self, script: str, nodes: int, *options: str) -> str:
        common = f"--nodes={nodes}", "--output=/dev/null", "--time=10"
        return str(self.lab.cluster.sbatch(f"#!/bin/bash\n{script}\n", *common, *options))

    def queued(self) -> set[str]:
        return set(self.lab.cluster.squeue("-h", "--format=%i").split())

    def left(self) -> str:
        idle = set(self.lab.cluster.sinfo("-h", "-N", "-o", "%N %t").split("\n")) - {""}
        busy = [line for line in idle if not line.endswith(" idle")]
        return " ".join(map(str, (self.queued() or "", busy or ""))).strip()

    def clear(self) -> None:
        self.lab.cluster.scancel("--quiet", "--partition=main")


class GridEngine(Domain):
    """A Grid Engine cluster; a node is a slot."""

    kind = "gridengine"
    names_mate = ("-ac", "{}")

    def start(self, stack: ExitStack) -> None:
        folder = self.folder / "cluster"
        folder.mkdir()
        self.cluster = stack.enter_context(GridEngineCluster(folder, self.nodes))
        install_prolog(self.cluster, self.folder / "hooks.sock")

    def manager(self) -> dict[str, object]:
        return {"bin": str(self.cluster.bin), "hook_socket": str(self.folder / "hooks.sock"), "command_timeout": 30}

    def _submit(self, script: str, nodes: int, *options: str) -> str:
        common = "-pe", "nodes", str(nodes), "-l", "h_rt=600"
        return self.cluster.qsub(f"COSCHED_JOB_ID=$JOB_ID\n{script}", *common, *options)

    def queued(self) -> set[str]:
        return set(self.cluster.states())

    def left(self) -> str:
        return " ".join(sorted(self.queued()))

    def clear(self) -> None:
        self.cluster.clear()


class Local(Domain):
    """Local processes."""

    kind = "local"
    names_mate = ("--{}",)

    def manager(self) -> dict[str, object]:
        return {"slots": self.nodes, "policy": "fcfs", "grace": 1}

    def _group(self, name: str) -> list[str]:
        return [f"--group={name}", f"--with={','.join(self.peers)}"]

    def _submit(self, script: str, nodes: int, *options: str) -> str:
        path = self.folder / "script"
        path.write_text(f"#!/bin/bash\n{script}\n")
        common = f"--nodes={nodes}", "--time=10", f"--chdir={self.folder}", "--parsable"
        return self.service.run("submit", *common, *options, str(path)).strip().rpartition(":")[2]


KINDS = {kind.kind: kind for kind in (Pbs, Slurm, GridEngine, Local)}


class CoupledLab:
    """Domains `mira`, `eureka`, `polaris` of these kinds and schemes, with so many nodes, below an empty folder.

    Keywords are settings of the services: those of the batch systems' managers go to [manager], others to
    [coscheduling]. All ends with the laboratory.
    """

    def __init__(
        self,
        folder: Path,
        kinds: Sequence[str] = ("pbs", "pbs"),
        schemes: Sequence[str] = ("hold", "hold"),
        nodes: int = 4,
        **settings: object,
    ) -> None:
        self.folder = folder
        self.domains: list[Domain] = []
        self._kinds, self._schemes, self._nodes = kinds, tuple(schemes), nodes
        self._settings = UNHURRIED | {"backoff": 2} | settings
        self._stack = ExitStack()

    def __iter__(self) -> Iterator[Domain]:
        return iter(self.domains)

    def __enter__(self) -> CoupledLab:
        self.folder.chmod(0o755)
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _start(self) -> None:
        keeping = Keeping(self.folder)
        self._stack.callback(keeping.close)
        names = NAMES[: len(self._kinds)]
        for name, kind in zip(names, self._kinds, strict=True):
            folder = self.folder / name
            folder.mkdir()
            peers = [peer for peer in names if peer != name]
            self.domains.append(KINDS[kind](name, peers, folder, keeping, self._nodes))
        for domain in self:
            domain.start(self._stack)
        self.serve()

    def serve(self, schemes: Sequence[str] | None = None, **settings: object) -> None:
        """Have services with these settings, besides those of before; wait until they have compared their clocks."""
        self._schemes = tuple(schemes or self._schemes)
        self._settings |= settings
        for domain in self:
            domain.service.stop()
        for domain, scheme in zip(self, self._schemes, strict=True):
            domain.service.configure(self._sections(domain, scheme))
        start_together([domain.service for domain in self])

    def address(self, domain: Domain) -> str:
        """Return where its peers reach a domain."""
        return f"127.0.0.1:{domain.port}"

    def _sections(self, domain: Domain, scheme: str) -> Sections:
        batch = domain.kind != Local.kind
        of_manager = {key: value for key, value in self._settings.items() if key in _OF_MANAGER and batch}
        others = {key: value for key, value in self._settings.items() if key not in _OF_MANAGER}
        return {
            "domain": domain.service.domain(domain.name, f"127.0.0.1:{domain.port}"),
            "coscheduling": {"scheme": scheme, **others},
            "peer": [{"name": peer.name, "address": self.address(peer)} for peer in self if peer is not domain],
            "manager": {"kind": domain.kind, **domain.manager(), **of_manager},
        }
