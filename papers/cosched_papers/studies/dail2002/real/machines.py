"""Machines of a network as processes that carry out orders (machine.py)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from cosched.planning.application import Map
from cosched.planning.grid import MBIT, Link
from cosched_papers.studies.dail2002.real.machine import PORT

PROGRAM = Path(__file__).with_name("machine.py")
PROBES = 3
WARM = 2  # iterations before those that are measured
Address = tuple[str, int]


class Machines:
    """The processes, while the block lasts. RuntimeError: one has ended."""

    def __init__(self, commands: Mapping[str, Sequence[str]], addresses: Mapping[str, Address]) -> None:
        """`commands`: for each machine, words before a command that let it run there."""
        self._commands, self._addresses = commands, addresses
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Machines:
        for name, words in self._commands.items():
            host, port = self._addresses[name]
            process = subprocess.Popen(
                [*words, sys.executable, str(PROGRAM), host, str(port)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            self._stack.callback(_end, process)
            self._processes[name] = process
        for name in self._processes:
            self._answer(name)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def run(
        self, kernel: str, size: int, chosen: Map, units: Sequence[float], between: Sequence[float], iterations: int,
        *, tell: bool = False,
    ) -> tuple[float, list[Any]]:  # fmt: skip
        """Run a map; return the seconds of an iteration on the slowest machine, and with `tell` all rows of the data.

        `units`: how many seconds a row takes on each machine of the map; `between`: how many an exchange of rows takes
        with the next one. A machine makes its longer exchange first, or else its other neighbour would keep it waiting.
        """
        names, first = [machine.name for machine in chosen.machines], 0
        turns = sorted(range(len(between)), key=lambda place: (-between[place], place % 2, place))
        for place, (name, rows, unit) in enumerate(zip(names, chosen.shares, units, strict=True)):
            before, after = names[place - 1 : place] if place else [], names[place + 1 : place + 2]
            self._order(
                name, do="run", kernel=kernel, size=size, first=first, rows=rows, unit=unit,
                after_first=bool(before and after) and turns.index(place) < turns.index(place - 1),
                before=self._addresses[before[0]] if before else None,
                after=self._addresses[after[0]] if after else None,
                warm=WARM, iterations=iterations, tell=tell,
            )  # fmt: skip
            first += rows
        answers = [self._answer(name) for name in names]
        slowest = max(answer["seconds"] for answer in answers)
        return slowest / iterations, [row for answer in answers for row in answer.get("rows", ())]

    def probe(self, one: str, other: str, size: int) -> Link:
        """Measure what a link gives, as a monitor does: by some messages of `size` bytes, and by short ones."""
        times = {}
        for length in (1, size):
            self._order(other, do="take", size=length, times=PROBES)
            self._order(one, do="send", to=self._addresses[other], size=length, times=PROBES)
            times[length] = min(self._answer(one)["seconds"])
            self._answer(other)
        return Link(8 * size / MBIT / max(1e-9, times[size] - times[1]), times[1] / 2)

    def _order(self, name: str, **order: Any) -> None:
        pipe = self._processes[name].stdin
        assert pipe is not None
        pipe.write(json.dumps(order) + "\n")
        pipe.flush()

    def _answer(self, name: str) -> dict[str, Any]:
        pipe = self._processes[name].stdout
        assert pipe is not None
        if not (line := pipe.readline()):
            raise RuntimeError(f"the process of {name} has ended")
        answer: dict[str, Any] = json.loads(line)
        return answer


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


def at_port(hosts: Mapping[str, str]) -> dict[str, Address]:
    """Return the addresses of machines that have hosts of their own."""
    return {name: (host, PORT) for name, host in hosts.items()}
