"""The services of a replay in lock-step: their files, their configurations, their processes."""

from __future__ import annotations

import csv
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosched.core.settings import Scheme
from cosched.sim.configuration import Domain
from cosched.sim.live.local_process import LocalProcess, free_ports
from cosched.sim.live.player import Player
from cosched.validation.sections import CoschedulingFields, SchedulerFields
from cosched.workload.jobs import Workload
from cosched.workload.pairing import Pairing, write_pairs

TIME = "time"  # the file in which the time is told
LONGEST_CALL = 300  # seconds: a busy host makes a call slow, not unanswered
DYING = 1.0  # seconds in which a process whose connections have broken can be waited for


@dataclass(frozen=True, slots=True)
class LiveDomain:
    """One domain of a replay: what it is configured to do, on how many nodes, and its jobs."""

    settings: Domain
    nodes: int
    workload: Workload


Place = tuple[Path, dict[str, Any]]  # a service's folder, to be made, and the sections of its configuration


@contextmanager
def in_processes(places: Iterable[Place]) -> Iterator[list[Player]]:
    """Clients of services that have started; they end with the block. ServiceDiedError if one does not start."""
    processes: dict[str, LocalProcess] = {}

    def check_all() -> None:
        """Whose service has died may be told by its peer, and while it is dying still."""
        end = time.monotonic() + DYING
        while time.monotonic() < end:
            for process in processes.values():
                process.check()
            time.sleep(0.05)

    with ExitStack() as stack:
        for folder, sections in places:
            process = processes[sections["domain"]["name"]] = LocalProcess(folder, sections)
            stack.callback(process.stop)
            process.start()
        for process in processes.values():
            process.wait().close()
        players = [Player(name, process.server, check_all) for name, process in processes.items()]
        for player in players:
            stack.callback(player.close)
        yield players


def prepared(domains: Sequence[LiveDomain], pairing: Pairing, folder: Path) -> Iterator[Place]:
    """Write what the services read; the folder of each, to be made, and its configuration."""
    addresses = [f"127.0.0.1:{port}" for port in free_ports(len(domains))]
    names = [domain.settings.name for domain in domains]
    pairs = folder / "pairs.csv"
    write_pairs(pairs, names, [domain.workload for domain in domains], pairing)
    off = [domain.settings.name for domain in domains if domain.settings.scheme is Scheme.OFF]
    for i, domain in enumerate(domains):
        trace = folder / f"{i}.csv"
        _write_trace(trace, domain.workload)
        peers = [{"name": names[j], "address": addresses[j]} for j in range(len(domains)) if j != i]
        manager = {
            "trace": str(trace),
            "nodes": domain.nodes,
            "pairs": str(pairs),
            "off": [name for name in off if name != names[i]],
            "time": str(folder / TIME),
        }
        # The name of a domain may be too long for the path of a socket.
        yield folder / f"{i}-{names[i][:16]}", configuration(domain.settings, addresses[i], peers, manager)


def configuration(settings: Domain, address: str, peers: list[Any], manager: dict[str, Any]) -> dict[str, Any]:
    """The sections of a service's configuration; `manager`: the keys that say where its files are."""
    return {
        "domain": {
            "name": settings.name,
            "listen": address,
            "plaintext": True,
            "socket": "socket",
            "state": "state.db",
            "log_level": "warning",
        },
        "coscheduling": {
            **_values(settings, CoschedulingFields),
            "mate_patience": "forever" if settings.mate_patience is None else settings.mate_patience,
            "peer_timeout": LONGEST_CALL,
        },
        "peer": peers,
        "manager": {"kind": "replay", **_values(settings, SchedulerFields), "clock": "lockstep", **manager},
    }


def _values(settings: Domain, fields: type[CoschedulingFields | SchedulerFields]) -> dict[str, Any]:
    """The settings of one section, as TOML takes them; decimal numbers are text, so that they lose no digits."""
    values = {name: getattr(settings, name) for name in fields.model_fields}
    return {name: value if isinstance(value, int) else str(value) for name, value in values.items()}


def _write_trace(path: Path, workload: Workload) -> None:
    """The jobs as they are to be replayed: cut, cleaned and scaled already."""
    columns = {"job_id": workload.job_id, "submit": workload.submit, "run": workload.run}
    columns |= {"nodes": workload.nodes, "requested": workload.requested}
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
