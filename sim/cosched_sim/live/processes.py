"""The services of a lock-step replay: their files, configurations and processes."""

from __future__ import annotations

import csv
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosched.validation.schemes import SchemeChoice
from cosched.validation.sections import CoschedulingFields
from cosched.validation.types import Settings
from cosched_sim.configuration import Domain
from cosched_sim.federation.live_player import LivePlayer
from cosched_sim.live.local_process import BESIDE_IT, LocalProcess, free_ports
from cosched_sim.workload.jobs import Workload
from cosched_sim.workload.pairing import Pairing
from cosched_sim.workload.pairs_file import write_pairs

TIME = "time"  # the file that holds the virtual time
LONGEST_CALL = 300  # seconds: a slow call on a busy host must not count as unanswered
DYING = 1.0  # seconds for a process to end after its connections broke


@dataclass(frozen=True, slots=True)
class ReplayedDomain:
    """One domain of a replay: its settings, its number of nodes and its jobs."""

    settings: Domain
    nodes: int
    workload: Workload


Place = tuple[Path, dict[str, Any]]  # a service's folder, not yet made, and the sections of its configuration


@contextmanager
def in_processes(places: Iterable[Place]) -> Iterator[list[LivePlayer]]:
    """Start the services, yield their clients, and end them with the block; ServiceDiedError if one does not start."""
    processes: dict[str, LocalProcess] = {}

    def check_all() -> None:
        """Check all services for a while: a peer may report a death before the process itself has ended."""
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
        players = [LivePlayer(name, process.server, check_all) for name, process in processes.items()]
        for player in players:
            stack.callback(player.close)
        yield players


def prepared(domains: Sequence[ReplayedDomain], pairing: Pairing, folder: Path, *, events: bool) -> Iterator[Place]:
    """Write the files that services read; yield the folder, not yet made, and the configuration of each."""
    addresses = [f"127.0.0.1:{port}" for port in free_ports(len(domains))]
    names = [domain.settings.name for domain in domains]
    pairs = folder / "pairs.csv"
    write_pairs(pairs, names, [domain.workload for domain in domains], pairing)
    off = [domain.settings.name for domain in domains if domain.settings.scheme is SchemeChoice.OFF]
    for i, domain in enumerate(domains):
        trace = folder / f"{i}.csv"
        _write_trace(trace, domain)
        peers = [{"name": names[j], "address": addresses[j]} for j in range(len(domains)) if j != i]
        manager = {
            "trace": str(trace),
            "nodes": domain.nodes,
            "pairs": str(pairs),
            "off": [name for name in off if name != names[i]],
            "time": str(folder / TIME),
            "events": events,
        }
        # A whole domain name may be too long for a socket's path.
        yield folder / f"{i}-{names[i][:16]}", configuration(domain.settings, addresses[i], peers, manager)


def configuration(settings: Domain, address: str, peers: list[Any], manager: dict[str, Any]) -> dict[str, Any]:
    """Return the sections of a service's configuration; `manager`: the keys with the paths of its files."""
    kind = settings.scheduler_kind
    scheduler = _values(settings, kind.keys, kind.keys_of_logs)  # the trace says of each job what else it needs
    return {
        "domain": {"name": settings.name, "listen": address, **BESIDE_IT},
        "coscheduling": {
            **_values(settings, CoschedulingFields, kind.refused),
            "mate_patience": "forever" if settings.mate_patience is None else settings.mate_patience,
            "peer_timeout": LONGEST_CALL,
        },
        "peer": peers,
        "manager": {"kind": "replay", "scheduler": kind.name, **scheduler, "clock": "lockstep", **manager},
    }


def _values(settings: Domain, fields: type[Settings], without: Collection[str]) -> dict[str, Any]:
    """Return the settings of one section for TOML; decimal numbers become text, so that they lose no digits."""
    values = ((name, getattr(settings, name)) for name in fields.model_fields if name not in without)
    return {name: value if isinstance(value, int) else str(value) for name, value in values if value is not None}


def _write_trace(path: Path, domain: ReplayedDomain) -> None:
    """Write the jobs to be replayed, which are already cut, cleaned and scaled."""
    workload, kind = domain.workload, domain.settings.scheduler_kind
    columns = {"job_id": workload.job_id, "submit": workload.submit, "run": workload.run}
    columns |= {"nodes": workload.nodes, "requested": workload.requested}
    lists = {name: column.tolist() for name, column in columns.items()}
    lists |= {more.name: [more.write(n) for n in workload.columns[more.name].tolist()] for more in kind.columns()}
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(lists)
        writer.writerows(zip(*lists.values(), strict=True))
