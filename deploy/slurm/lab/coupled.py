"""Coupled real Slurm clusters, with cosched's hooks and services.

with CoupledLab(nodes=4, schemes=("hold", "yield"), release_interval=5) as lab:
    here, there = lab.submit_pair("flow", "sleep 1")
    lab["intrepid"].cluster.wait_for_state(here, "RUNNING")
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from deploy.lab.service import Sections, Service, start_together
from deploy.lab.waiting import LabError
from deploy.slurm.lab.cluster import Cluster, clear
from deploy.slurm.lab.installed_hooks import InstalledHooks
from deploy.slurm.lab.laboratory import NAMES, Lab

SCHEMES = ("hold", "yield")
BY_FOLDER = "folder"  # the gate finds its instant by a folder, not by the service's socket
GATE_LEAD = 0.3  # seconds from the hook's end to the gate's
# Everything is on one host, which may be busy: a service or slurmctld that is slow for some seconds is not gone.
# Nobody submits another job in the place of one that was cancelled, unless a test says so.
UNHURRIED = {"peer_timeout": 30, "peer_patience": 60, "peer_grace": 0, "command_timeout": 30, "successor_patience": 0}
_OF_GATES = ("gate_lead", "gate_folder")
_OF_MANAGER = (*_OF_GATES, "backoff", "try_patience", "poll_interval", "tell_interval", "command_timeout", "bin")
_OF_DOMAIN = ("log_level", "http", "operators", "retention", "schedule_interval", "job_ports")


@dataclass(frozen=True)
class Domain:
    """A policy domain: a cluster, its hooks, and its service."""

    name: str
    cluster: Cluster
    hooks: InstalledHooks
    service: Service
    port: int

    @property
    def address(self) -> str:
        """The address at which peers reach it."""
        return f"127.0.0.1:{self.port}"


class CoupledLab:
    """A laboratory (see `Lab` for directory and names) whose clusters are each other's peers.

    schemes: hold, yield or off, for each cluster. gate: use the task prolog, with gate_lead (default GATE_LEAD);
    "folder": tasks find the instant only by gate_folder, as on hosts other than the service's.
    services: False starts none. patience: seconds that the hooks wait for a service. options: those of
    `Options`. All other keywords are settings of the services: keys of [manager] and [domain] go there, others to
    [coscheduling].
    """

    def __init__(
        self,
        directory: Path | None = None,
        names: Sequence[str] = NAMES,
        *,
        schemes: Sequence[str] = SCHEMES,
        gate: bool | str = True,
        services: bool = True,
        patience: int = 10,
        options: Mapping[str, Any] | None = None,
        **settings: object,
    ) -> None:
        if gate not in (True, False, BY_FOLDER):
            raise LabError(f"gate={gate}: true, false or {BY_FOLDER}")
        self.lab = Lab(directory, names, further_ports=len(names), **(options or {}))
        self.domains: dict[str, Domain] = {}
        self.schemes = tuple(schemes)
        self._gate, self._services, self._patience = gate, services, patience
        usual: dict[str, object] = {"gate_lead": GATE_LEAD if gate else 0.0, "heartbeat_interval": 1}
        self._settings = usual | UNHURRIED | settings

    @property
    def directory(self) -> Path:
        """The folder with all its files."""
        return self.lab.directory

    def __enter__(self) -> CoupledLab:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __getitem__(self, name: str) -> Domain:
        return self.domains[name]

    def __iter__(self) -> Iterator[Domain]:
        return iter(self.domains.values())

    def start(self) -> None:
        """Start everything; after a LabError nothing is left running."""
        try:
            hooks = {name: self._install(name) for name in self.lab.names}
            self.lab.start()
            for (name, its), port in zip(hooks.items(), self.lab.ports, strict=True):
                cluster = self.lab[name]
                service = Service(cluster.directory, cluster.environment, self.lab.keeping)
                self.domains[name] = Domain(name, cluster, its, service, port)
            self.configure()
            if self._services:
                self.start_services()
        except BaseException:
            self.stop()
            raise

    def _install(self, name: str) -> InstalledHooks:
        hooks = InstalledHooks(self.lab.directory / name / "hooks", self._patience)
        options = hooks.options
        if self._gate is not True:
            options["task_prolog"] = hooks.gate_of_another_host() if self._gate == BY_FOLDER else None
        self.lab.options[name] = replace(self.lab.options[name], **options)
        return hooks

    def stop(self) -> None:
        """End all processes of the laboratory, and remove its folder if it is a temporary one."""
        self.lab.stop()

    def detach(self) -> None:
        """Keep it running when this process ends; `stop` or `take_down` ends it."""
        self.lab.detach()

    # Services

    def configure(self, schemes: Sequence[str] | None = None, **settings: object) -> None:
        """Change settings of the services from their next start on; keep the others."""
        self.schemes = tuple(schemes or self.schemes)
        self._settings |= settings
        if len(self.schemes) != len(self.domains):
            raise LabError(f"{len(self.domains)} clusters, but {len(self.schemes)} schemes: {', '.join(self.schemes)}")
        for domain, scheme in zip(self, self.schemes, strict=True):
            domain.service.configure(self._sections(domain, scheme))

    def restart(self, schemes: Sequence[str] | None = None, **settings: object) -> None:
        """Stop the services, change settings, and start them."""
        for domain in self:
            domain.service.stop()
        self.configure(schemes, **settings)
        self.start_services()

    def start_services(self) -> None:
        """Start the services, and wait until they serve and have compared their clocks."""
        start_together([domain.service for domain in self])

    def _sections(self, domain: Domain, scheme: str) -> Sections:
        others = {key: value for key, value in self._settings.items() if key not in (*_OF_MANAGER, *_OF_DOMAIN)}
        hooks = {"hook_socket": str(domain.hooks.socket), "waiting_folder": str(domain.hooks.waiting)}
        hooks |= {"gate_folder": str(domain.hooks.gates)} if self._gate == BY_FOLDER else {}
        return {
            "domain": domain.service.domain(domain.name, domain.address) | self._settings_of(_OF_DOMAIN),
            "coscheduling": {"scheme": scheme, **others},
            "peer": [{"name": peer.name, "address": peer.address} for peer in self if peer is not domain],
            "manager": {"kind": "slurm", "conf": str(domain.cluster.conf), **hooks, **self._settings_of(_OF_MANAGER)},
        }

    def _settings_of(self, keys: Sequence[str]) -> dict[str, object]:
        return {key: value for key, value in self._settings.items() if key in keys}

    # Jobs

    def submit_pair(self, name: str, script: str, *options: str) -> tuple[int, ...]:
        """Submit a batch job with this pair name to each cluster; return their ids."""
        comment = f"--comment=cosched:pair={name}"
        return tuple(domain.cluster.sbatch(script, comment, *options) for domain in self)

    def clear(self) -> None:
        """Cancel all jobs, and wait until none is left and all nodes are idle."""
        clear(*(domain.cluster for domain in self))

    def check(self) -> None:
        """Raise LabError if a daemon or a service that should run has ended by itself."""
        for domain in self:
            domain.cluster.check()
            domain.service.check()
