"""What Slurm and OpenPBS know of their nodes: whether an application gets a processor there now, and how much memory.

Both give processors as a whole: a node with a free one gives all of it to a new process, and one without gives nothing.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from cosched.planning.facts import CPU, MEMORY, Listed
from cosched.planning.grid import MB
from cosched.planning.information.source import SOONER, Reading, SourceError, SourceKind, SourceSettings
from cosched_adapters.manager import ManagerError
from cosched_adapters.programs import Programs

SINFO = ("sinfo", "-h", "-a", "-N", "-O", "NodeList:256,StateLong:32,CPUsState:32,Memory:32,AllocMem:32,FreeMem:32")
PBSNODES = ("pbsnodes", "-a", "-F", "json")
_TAKES_JOBS = {"idle", "mixed", "allocated", "completing"}  # of Slurm
_UNSET = 1  # MB: Slurm's memory of a node for which none is configured
_SIZE = re.compile(r"(\d+)([kmgt]?)(b|w)", re.IGNORECASE)  # of PBS; a word has 8 bytes


class BatchSystemSettings(SourceSettings):
    """`suffix` is what the full names of machines have after the names of nodes: "anl.gov" for n1.anl.gov."""

    suffix: str = ""
    bin: Path | None = None  # the folder of its commands; None: PATH
    conf: Path | None = None  # its configuration file


class BatchSystem:
    """Runs a command that shows all nodes, and parses what it prints."""

    def __init__(
        self,
        name: str,
        variable: str,
        command: Sequence[str],
        parse: Callable[[bytes], Iterable[Reading]],
        settings: BatchSystemSettings,
        folder: Path,
    ) -> None:
        conf = folder / settings.conf if settings.conf else os.environ.get(variable)
        environment = {variable: str(conf)} if conf else {}
        bin = None if settings.bin is None else (folder / settings.bin).resolve()
        self._programs = Programs(name, bin, SOONER * float(settings.timeout), environment)
        self._command = command
        self._parse = parse
        self._suffix = settings.suffix and f".{settings.suffix}"

    def read(self, machines: Sequence[Listed], tell: Callable[[str], None]) -> list[Reading]:  # noqa: ARG002
        try:
            printed = asyncio.run(self._programs.run(self._command, _failure))
        except ManagerError as error:
            raise SourceError(str(error)) from None
        return [reading._replace(of=f"{reading.of}{self._suffix}") for reading in self._parse(printed)]


def _failure(name: str, code: int, said: bytes) -> ManagerError:
    lines = said.decode("utf-8", "replace").splitlines() or [f"exit code {code}"]
    return ManagerError(f"{name}: {lines[0][:200]}")


def nodes_of_slurm(printed: bytes) -> Iterator[Reading]:
    """Yield what SINFO prints. A node is shown once for each of its partitions."""
    for line in dict.fromkeys(printed.decode("utf-8", "replace").splitlines()):
        words = line.split()
        if len(words) != 6:
            raise SourceError(f"sinfo printed {line[:200]!a}, not a node in six words")
        name, state, processors, memory, allocated, free = words
        idle = int(processors.split("/")[1])
        yield Reading(CPU, name, float(idle > 0 and state in _TAKES_JOBS))
        unused = [float(memory) - float(allocated)] if float(memory) > _UNSET else []
        unused += [float(free)] if free != "N/A" else []
        if unused:
            yield Reading(MEMORY, name, max(0.0, min(unused)))


def nodes_of_pbs(printed: bytes) -> Iterator[Reading]:
    """Yield what PBSNODES prints."""
    try:
        for name, node in json.loads(printed)["nodes"].items():
            available, assigned = node.get("resources_available", {}), node.get("resources_assigned", {})
            idle = available.get("ncpus", 0) - assigned.get("ncpus", 0)
            yield Reading(CPU, name, float(node["state"] == "free" and idle > 0))
            if "mem" in available:
                yield Reading(MEMORY, name, max(0.0, _mb(available["mem"]) - _mb(assigned.get("mem", "0b"))))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SourceError(f"pbsnodes printed no nodes as JSON: {error}") from None


def _mb(size: str) -> float:
    found = _SIZE.fullmatch(size)
    if found is None:
        raise ValueError(f"{size!r} is not a size of memory")
    words = 8 if found[3].lower() == "w" else 1
    return int(found[1]) * words * 2.0 ** (10 * " kmgt".index(found[2].lower() or " ")) / MB


_slurm = partial(BatchSystem, "Slurm", "SLURM_CONF", SINFO, nodes_of_slurm)
_pbs = partial(BatchSystem, "PBS", "PBS_CONF_FILE", PBSNODES, nodes_of_pbs)
SLURM = SourceKind("slurm", "the nodes of a Slurm cluster, by sinfo", BatchSystemSettings, _slurm)
PBS = SourceKind("pbs", "the nodes of an OpenPBS cluster, by pbsnodes", BatchSystemSettings, _pbs)
