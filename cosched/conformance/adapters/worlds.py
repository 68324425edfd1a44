"""A batch system with an adapter, as the tests of its promises see it: for an adapter of your own, write a `World`."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence

from cosched.conformance.adapters.reporting import PATIENCE, Reporting
from cosched.core.protocol import Named, named_group, named_mate
from cosched_adapters.batch_system import BatchSystem

NODES = 4
Others = Sequence[str]  # domains


def named(pair: str | None, others: Others) -> Named | None:
    """Return what a job of this pair, or of a group with these other domains, names."""
    if pair is None:
        return None
    return named_group(pair, tuple(others)) if others else named_mate("", pair)


class World(ABC):
    """A batch system of `NODES` nodes. What blocks, real commands for example, runs in a thread.

    What the system cannot do stays NotImplementedError: its tests are skipped.
    """

    @abstractmethod
    async def submit(
        self, nodes: int = 2, seconds: float = 600.0, pair: str | None = "p", account: str = "", others: Others = (),
        *, adoptable: bool = False, held: bool = False,
    ) -> str:  # fmt: skip
        """Submit a job that sleeps, as a user, and return its id.

        `others`: the job is in a group with jobs on these domains. `held`: its user holds it back.
        """

    @abstractmethod
    async def delete(self, job: str) -> None:
        """Delete a job, as its user."""

    @abstractmethod
    async def state(self, job: str) -> str:
        """Return how the batch system shows a job: `queued` (with nodes or without), `running` or `ended`."""

    @abstractmethod
    async def requeue(self, job: str) -> None:
        """End a running job as an administrator, so that it is queued again."""

    @abstractmethod
    def manager(self, **settings: object) -> BatchSystem:
        """Make a manager with these keys of `[manager]`; at most one is open at a time."""

    @abstractmethod
    async def clear(self) -> None:
        """Delete all jobs, and wait until all nodes are free and none is kept for anybody."""

    async def told(self, job: str, variable: str) -> str | None:
        """Return the value of a variable by which a job that runs finds its mates."""
        raise NotImplementedError

    async def lose_nodes(self, job: str) -> None:
        """Break nodes that are kept for a job."""
        raise NotImplementedError

    async def mend_nodes(self) -> None:
        """Mend the nodes."""
        raise NotImplementedError

    async def kill(self, job: str) -> None:
        """End the batch system's own process by SIGKILL, once it has this job on record."""
        raise NotImplementedError

    async def revive(self) -> None:
        """Start it again, and wait until it answers."""
        raise NotImplementedError


def serving(world: World, **settings: object) -> Reporting[BatchSystem]:
    """Return a service's view: a manager that is open, and its reports."""
    return Reporting(world.manager(**settings))


async def becomes(world: World, job: str, *states: str) -> None:
    """Wait until the batch system shows a job in one of these states."""
    async with asyncio.timeout(PATIENCE):
        while await world.state(job) not in states:
            await asyncio.sleep(0.05)
