"""Two domains with services: a PBS cluster, and a PBS cluster or a domain of local processes."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from deploy.lab.keeping import Keeping
from deploy.lab.service import Service
from deploy.lab.waiting import wait_for
from deploy.pbs.lab import PbsCluster
from tests.pbs.managed import install_hook

UNHURRIED = {"peer_timeout": 30, "peer_patience": 60, "peer_grace": 60, "heartbeat_interval": 1}


@dataclass(frozen=True)
class Domain:
    """A PBS cluster and its service."""

    cluster: PbsCluster
    service: Service
    port: int

    @property
    def name(self) -> str:
        return self.cluster.name


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def coupled(folder: Path, schemes: Sequence[str], **settings: object) -> Iterator[list[Domain]]:
    """Two PBS clusters of four nodes, `mira` and `eureka`, with services of these schemes."""
    folder.chmod(0o755)
    with ExitStack() as stack:
        keeping = Keeping(folder)
        stack.callback(keeping.close)
        domains = []
        for name in ("mira", "eureka"):
            cluster = stack.enter_context(PbsCluster(name, folder / name))
            domains.append(Domain(cluster, Service(cluster.folder, {"PATH": "/usr/bin:/bin"}, keeping), _free_port()))
        for domain, peer, scheme in zip(domains, reversed(domains), schemes, strict=True):
            install_hook(domain.cluster, peers=(peer.name,))
            configure(domain, peer, scheme, settings)
        for domain in domains:
            domain.service.start()
        for domain in domains:
            compared = lambda d=domain: d.service.ask("domains")["peers"][0]["clock_offset"] is not None  # noqa: E731
            wait_for(compared, f"{domain.name} to have compared its clock")
        yield domains


def configure(domain: Domain, peer: Domain, scheme: str, settings: dict[str, object]) -> None:
    """Write the configuration of a domain's service."""
    service = domain.service
    domain.service.configure(
        {
            "domain": {
                "name": domain.name,
                "listen": f"127.0.0.1:{domain.port}",
                "plaintext": True,
                "socket": str(service.socket),
                "state": str(service.state),
            },
            "coscheduling": {"scheme": scheme, **UNHURRIED, **settings},
            "peer": [{"name": peer.name, "address": f"127.0.0.1:{peer.port}"}],
            "manager": {
                "kind": "pbs",
                "bin": str(domain.cluster.bin),
                "hook_socket": str(domain.cluster.folder / "hooks.sock"),
                "command_timeout": 30,
                "backoff": 2,
            },
        }
    )
