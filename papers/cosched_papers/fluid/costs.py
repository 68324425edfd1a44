"""Prophet's cost models: how long an iteration of a parallel application takes on P processors.

Weissman, Abburi, England (2004), section 3 and figure 4: from what the application says of its iterations follow
T_comm, T_comp and T_exec; the knee of T_exec is the ideal number of processors. Times are in seconds, sizes in bytes.
There is no scheduler here: an application, its client and the simulator can all use it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

ONE_D, TREE, RING, BROADCAST = "1-D", "tree", "ring", "broadcast"
# In how many steps, one after the other, messages of an iteration pass; on a shared network each step has one message
# of every processor. The paper's formula is that of 1-D.
TOPOLOGIES: Mapping[str, Callable[[int], float]] = {
    ONE_D: lambda _: 1.0,
    RING: lambda _: 1.0,
    TREE: lambda procs: math.ceil(math.log2(procs)) if procs > 1 else 0.0,
    BROADCAST: lambda procs: procs - 1.0,
}
MICRO = 1e-6


@dataclass(frozen=True, slots=True)
class Requirements:
    """What an application needs, or wants: processors, and bytes of memory and of local disk."""

    processors: int
    memory: int = 0
    disk: int = 0

    def __post_init__(self) -> None:
        """ValueError for fewer than one processor, or sizes below 0."""
        if self.processors < 1 or min(self.memory, self.disk) < 0:
            raise ValueError(f"requirements need 1 processor or more and no negative sizes, not {self}")


@dataclass(frozen=True, slots=True)
class Phase:
    """What an application tells of one phase of its program; after # the callback of figure 4, and its words.

    ValueError for a value that is out of range. The values may depend on the problem's size.
    """

    numDEs: int  # noqa: N815  num_des: "number of data elements (DE) in the problem"
    comp: float  # comp_complexity: "# of executed instructions per DE"
    arch: float  # arch_cost: "arch-specific execution cost per instruction for a data element (usec/instruction)"
    topology: str = ONE_D  # comm_topology: one of TOPOLOGIES
    comm: float = 0.0  # comm_complexity: "avg message size in bytes"
    iterations: int | None = None  # iters: "number of iterations if known"
    least: Requirements = field(default_factory=lambda: Requirements(1))  # min_requirements: "minimum resources"

    def __post_init__(self) -> None:
        if self.topology not in TOPOLOGIES:
            raise ValueError(f"topology: {self.topology!r} is not one of {', '.join(TOPOLOGIES)}")
        for name in ("numDEs", "comp", "arch", "comm"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name}: {getattr(self, name)} is not a number from 0 on")
        if self.iterations is not None and self.iterations < 1:
            raise ValueError(f"iterations: {self.iterations} is not 1 or more")


@dataclass(frozen=True, slots=True)
class Network:
    """Constants that are "determined off-line": a message of b bytes takes `latency` + b x `per_byte` s.

    `bandwidth` and `cpu` are the shares of the network and of each processor that are available (bw_avail, cpu_avail).
    """

    latency: float
    per_byte: float
    bandwidth: float = 1.0
    cpu: float = 1.0

    def __post_init__(self) -> None:
        """ValueError for a value out of range."""
        if not (0 <= self.latency < math.inf and 0 <= self.per_byte < math.inf):
            raise ValueError(f"latency and per_byte must be 0 or more, not {self.latency} and {self.per_byte}")
        if not (0 < self.bandwidth <= 1 and 0 < self.cpu <= 1):
            raise ValueError(f"bandwidth and cpu are shares above 0 and up to 1, not {self.bandwidth} and {self.cpu}")


class Model(Protocol):
    """How long an iteration takes, by the number of processors, in seconds."""

    def comp(self, procs: int) -> float:
        """Return T_comp."""

    def comm(self, procs: int) -> float:
        """Return T_comm."""


@dataclass(frozen=True, slots=True)
class DataParallel:
    """An SPMD data parallel program whose processors share one network.

    T_comm = lat + (bw p comm_complexity) / bw_avail; T_comp = (comp_complexity arch_cost numDEs) / (p cpu_avail). One
    processor has nobody to tell anything.
    """

    phase: Phase
    network: Network

    def comp(self, procs: int) -> float:
        """Return T_comp in s."""
        return _work(self.phase) / (procs * self.network.cpu)

    def comm(self, procs: int) -> float:
        """Return T_comm in s."""
        net, phase = self.network, self.phase
        if procs == 1:
            return 0.0
        steps = TOPOLOGIES[phase.topology](procs)
        return steps * (net.latency + net.per_byte * procs * phase.comm / net.bandwidth)


@dataclass(frozen=True, slots=True)
class MasterSlave:
    """A bag of `tasks` that a master hands to workers, one message each way: figure 2(b).

    The work is that of `phase`, which the tasks share evenly; its message is what one task moves. All messages pass
    the master, one after the other: "the overhead experienced by the master". One of the processors is the master's,
    which works, too, if it is alone.
    """

    phase: Phase
    network: Network
    tasks: int

    def comp(self, procs: int) -> float:
        """Return the time of the worker with most tasks, in s."""
        rounds = -(-self.tasks // max(procs - 1, 1))
        return rounds * _work(self.phase) / (self.tasks * self.network.cpu)

    def comm(self, procs: int) -> float:
        """Return the master's time, in s: a start for each worker, and every message."""
        net = self.network
        if procs == 1:
            return 0.0
        message = net.latency + net.per_byte * self.phase.comm / net.bandwidth
        return (procs - 1) * net.latency + 2 * self.tasks * message


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Stages one after another; only `parallel` gets more processors: figure 2(c).

    `others`: the times of the serial stages for one item, in s, each on one processor. An iteration is an item, and
    takes as long as the slowest stage: "Once T1 or T3 exceeds T2/P there is no benefit to adding more processors".
    """

    parallel: DataParallel
    others: tuple[float, ...]

    def comp(self, procs: int) -> float:
        """Return the time of the slowest stage in s, without communication. P counts those of the parallel stage."""
        return max(self.parallel.comp(procs), *self.others)

    def comm(self, procs: int) -> float:
        """Return by how much communication makes the slowest stage slower, in s."""
        inner = self.parallel.comp(procs) + self.parallel.comm(procs)
        return max(inner, *self.others) - self.comp(procs)


def _work(phase: Phase) -> float:
    """Return the seconds of an iteration's work on one whole processor."""
    return phase.comp * phase.arch * phase.numDEs * MICRO


def exec_time(model: Model, procs: int) -> float:
    """Return T_exec = T_comm + T_comp, the predicted average time of an iteration in s; ValueError for no processor."""
    if procs < 1:
        raise ValueError(f"an application runs on 1 processor or more, not {procs}")
    return model.comm(procs) + model.comp(procs)


def ideal(model: Model, least: int, most: int, gain: float = 0.0) -> int:
    """Return the knee of the curve (figure 2), from `least` to `most` processors.

    Prophet "explores a sequence of processor configurations": here all, since T_exec can have steps. The ideal is the
    fewest processors whose T_exec is at most 1 + `gain` times the least one. ValueError for an empty range.
    """
    if not 1 <= least <= most:
        raise ValueError(f"no number of processors is from {least} to {most}")
    if gain < 0:
        raise ValueError(f"gain: {gain} is below 0")
    times = [exec_time(model, procs) for procs in range(least, most + 1)]
    enough = min(times) * (1 + gain)
    return least + next(place for place, time in enumerate(times) if time <= enough)


def added(model: Model, procs: int, more: int) -> float:
    """Return by how many seconds an iteration gets shorter with `more` processors (fewer: below 0)."""
    return exec_time(model, procs) - exec_time(model, procs + more)


def adaptation(network: Network, data: float, procs: int, start: float = 0.0) -> float:
    """Return the time in s to move `data` bytes, spread evenly over `procs`, to a master and out again.

    "T_comm but with comm_complexity replaced by the amount of data to be redistributed". `start`: to create a process.
    """
    if procs < 1:
        raise ValueError(f"an application runs on 1 processor or more, not {procs}")
    return start + network.latency + network.per_byte * data / procs / network.bandwidth


class Sensing:
    """The sensing functions of the adaptive API: what the model predicts, and what was measured.

    The application calls `measured` after each iteration.
    """

    def __init__(self, phase: Phase, model: Model, most: int, keep: int = 1000) -> None:
        """`most`: the processors that there are; `keep`: how many iterations are remembered."""
        self._phase, self._model, self._most, self._keep = phase, model, most, keep
        self._past: list[tuple[float, float]] = []

    def measured(self, comp: float, comm: float) -> None:
        """Note the seconds of computation and communication of an iteration."""
        self._past = [*self._past, (comp, comm)][-self._keep :]

    def exec_time(self, procs: int, past: int = 0) -> tuple[float, float | None]:
        """Return the predicted time of an iteration, and the measured mean of the last `past` ones (None: none)."""
        return exec_time(self._model, procs), self._mean(past, lambda comp, comm: comp + comm)

    def exec_time_comp(self, procs: int, past: int = 0) -> tuple[float, float | None]:
        """Return the same of computation."""
        return self._model.comp(procs), self._mean(past, lambda comp, _: comp)

    def exec_time_comm(self, procs: int, past: int = 0) -> tuple[float, float | None]:
        """Return the same of communication."""
        return self._model.comm(procs), self._mean(past, lambda _, comm: comm)

    def resources(self) -> tuple[Requirements, Requirements]:
        """Return what the application needs at least, and its ideal; ValueError if there is less than the least."""
        least = self._phase.least
        procs = ideal(self._model, least.processors, self._most)
        return least, Requirements(procs, least.memory, least.disk)

    def _mean(self, past: int, of: Callable[[float, float], float]) -> float | None:
        last = self._past[-past:] if past > 0 else []
        return sum(of(*each) for each in last) / len(last) if last else None
