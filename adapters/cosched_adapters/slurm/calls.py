"""One Slurm cluster, by its commands."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from types import MappingProxyType

from cosched_adapters.batch_system import NodeState
from cosched_adapters.manager import UnknownJobError
from cosched_adapters.profile import Amounts
from cosched_adapters.programs import Failure, Programs
from cosched_adapters.slices import in_slices
from cosched_adapters.slurm import commands, controllers, machine, reservations
from cosched_adapters.slurm.commands import JobRow
from cosched_adapters.slurm.comments import MARK
from cosched_adapters.slurm.plan import Plan
from cosched_adapters.slurm.reservations import Reservation, ReservationError
from cosched_adapters.slurm.settings import SlurmSettings
from cosched_adapters.slurm.versions import shows_exclusive
from cosched_adapters.slurm.wants import shared

Show = Callable[[Sequence[str]], list[str]]  # of some jobs or arrays, the command that shows them
_MOST_CONTROLS = 4  # concurrent commands that change jobs
_MOST_IDS = 1000  # in one command


class Slurm:
    """One cluster. Calls raise ManagerError, or UnavailableError if slurmctld does not answer."""

    def __init__(self, settings: SlurmSettings) -> None:
        self._controls = asyncio.Semaphore(_MOST_CONTROLS)
        self._share = frozenset[str]()  # what the jobs of one node share, once the configuration was read
        self._exclusive = False  # whether squeue has this field, likewise
        environment = {"SLURM_TIME_FORMAT": "%s"}
        conf = settings.conf or os.environ.get("SLURM_CONF")
        if conf:
            environment["SLURM_CONF"] = str(conf)
        self._tasks: dict[str, str] = {}  # of jobs that are tasks: an array's last task has the array's own id
        self._parted: set[str] = set()  # the arrays whose tasks are jobs of their own
        self._in_one_row: list[str] = []  # of these those whose waiting tasks squeue has shown in one row
        self._programs = Programs("Slurm", settings.bin, settings.command_timeout, environment)

    async def queue(self) -> list[JobRow]:
        """Return all jobs, without their comments."""
        rows = await in_slices(commands.each_row(await self._run(commands.queue())))
        self._in_one_row = _in_one_row(rows, lambda row: row.array in self._parted)
        rows = commands.whole(await self._apart(rows, self._in_one_row, commands.each_task))
        self._parted &= {row.array for row in rows if row.array is not None}
        self._tasks = _tasks_among(rows)
        return rows

    async def details(self, job_ids: Sequence[str]) -> list[JobRow]:
        """Return those of the jobs that Slurm knows, with their comments."""
        rows = await self._shown(job_ids, commands.details, comments=True)
        arrays = _in_one_row(rows, lambda row: MARK in (row.comment or ""))
        rows = await self._apart(rows, arrays, partial(commands.each_task, comments=True), comments=True)
        self._parted |= set(arrays).difference(_in_one_row(rows, lambda _: True))
        self._tasks |= _tasks_among(rows)
        return commands.whole(rows)

    async def _apart(
        self, rows: list[JobRow], arrays: Sequence[str], show: Show, *, comments: bool = False
    ) -> list[JobRow]:
        """Return these rows, with one for each task of some arrays that is a job of its own.

        Since 25.11 the last task that waits stays the array's own job, and squeue shows all that wait in its row.
        """
        if not arrays:
            return rows
        tasks = commands.parted(await self._shown(arrays, show, comments=comments))
        return [row for row in rows if row.array not in arrays] + tasks

    async def _shown(self, ids: Sequence[str], show: Show, *, comments: bool) -> list[JobRow]:
        """Return the rows that squeue shows of these jobs or arrays, as far as Slurm knows them."""
        rows: list[JobRow] = []
        for start in range(0, len(ids), _MOST_IDS):
            with suppress(UnknownJobError):  # Slurm says so if only one job is asked for
                printed = await self._run(show(ids[start : start + _MOST_IDS]))
                rows += await in_slices(commands.each_row(printed, comments=comments))
        return rows

    async def tasks(self, array: str) -> list[int]:
        """Return the numbers of an array's tasks that wait."""
        waiting = ["squeue", "-h", "-a", "-r", "-t", "PENDING", "-j", commands.checked(array), "-o", "%K"]
        return [int(number) for number in (await self._run(waiting)).split()]

    async def part(self, array: str, tasks: Sequence[int], comment: str) -> None:
        """Have Slurm make jobs of their own of all these tasks.

        Any change of one task does that: each is given the comment that it has. The last one is alone then.
        """
        await asyncio.gather(*(self._part(f"{array}_{task}", comment) for task in tasks[:-1]))
        self._parted.add(array)

    async def _part(self, task: str, comment: str) -> None:
        with suppress(UnknownJobError):  # it was cancelled meanwhile
            await self._control(commands.update(task, f"comment={comment}"))

    async def set_start(self, job_id: str, delay: int) -> None:
        """Let a job start in `delay` seconds at the earliest. UnknownJobError, NotPendingError."""
        await self._control(commands.set_start(self._named(job_id), delay))

    async def set_comment(self, job_id: str, comment: str) -> None:
        """Replace a job's comment. UnknownJobError."""
        await self._control(commands.update(self._named(job_id), f"comment={comment}"))

    async def tell(self, job_id: str, text: str) -> None:
        """Replace what operators say of a job, its AdminComment. UnknownJobError."""
        await self._control(commands.update(self._named(job_id), f"admincomment={text}"))

    async def requeue(self, job_id: str) -> None:
        """End a batch job and queue it again. UnknownJobError; ManagerError if it is not launched yet or is ending."""
        await self._control(["scontrol", "requeue", commands.checked(self._named(job_id))])

    async def cancel(self, job_id: str) -> None:
        """Cancel a job; do nothing if it has ended or is unknown."""
        await self._control(["scancel", commands.checked(self._named(job_id))])

    async def config(self) -> dict[str, str]:
        """Return Slurm's configuration: parameters and values."""
        config = commands.parse_config(await self._run(["scontrol", "show", "config"]))
        self._share, self._exclusive = shared(config), shows_exclusive(config)
        return config

    async def active_controller(self) -> str | None:
        """Return the host of the slurmctld that schedules; None: none answers."""
        return controllers.active(await self._run(["scontrol", "ping"]))

    async def nodes(self) -> int:
        """Return how many nodes the cluster has, in any state."""
        return len(set((await self._run(["sinfo", "-h", "-a", "-N", "-o", "%N"])).split()))

    async def addresses(self) -> list[str]:
        """Return the addresses of the nodes, each once."""
        printed = await self._run(["sinfo", "-h", "-a", "-N", "-o", "%o"])
        return list(dict.fromkeys(printed.decode("utf-8", "surrogateescape").split()))

    # Reservations. ReservationError: nothing has changed; UnavailableError: that is unknown, so take back what may be

    async def reserve(
        self,
        name: str,
        user: str,
        nodes: Sequence[str],
        start: int | None,
        end: int,
        flags: Iterable[str] = (),
        licences: Amounts = MappingProxyType({}),
    ) -> None:
        """Reserve these nodes for a user's jobs from `start` (None: now) to `end`, in seconds since 1970."""
        asked = reservations.create(name, user, nodes, start, end, flags, licences)
        await self._control(asked, reservations.failure)
        made = next((found for found in await self.reservations() if found.name == name), None)
        try:
            reservations.check_count(made, nodes)
        except ReservationError:
            with suppress(ReservationError):
                await self.delete_reservation(name)
            raise

    async def put_in(self, job_id: str, name: str) -> None:
        """Let a job, pending or with nodes, start in a reservation only from now on. UnknownJobError: it has ended."""
        await self._control(reservations.put_in(self._named(job_id), name), reservations.failure)

    async def begin_in(self, job_id: str, name: str) -> None:
        """Let a pending job start in a reservation only, and soon. UnknownJobError: it has ended; NotPendingError."""
        await self._control(reservations.begin_in(self._named(job_id), name), reservations.failure)

    async def take_out(self, job_id: str) -> None:
        """Take a job, pending or with nodes, out of its reservation. UnknownJobError: it has ended."""
        await self._control(reservations.take_out(self._named(job_id)), reservations.failure)

    async def delete_reservation(self, name: str) -> None:
        """Delete a reservation in which no job is."""
        await self._control(reservations.delete(name), reservations.failure)

    async def reservations(self) -> list[Reservation]:
        """Return all reservations, whoever made them."""
        return reservations.parse(await self._run(["scontrol", "show", "reservations", "-o"]))

    async def jobs_inside(self) -> dict[str, list[str]]:
        """Return the jobs in each reservation, waiting or with nodes."""
        inside: dict[str, list[str]] = {}
        for job in machine.parse_jobs(await self._active(machine.jobs)):
            if job.reservation is not None:
                inside.setdefault(job.reservation, []).append(job.job_id)
        return inside

    async def plan(self, now: int) -> Plan:
        """Return what one look at the cluster shows, from the instant `now` on.

        Reservations come before jobs: the nodes of a job that leaves its reservation meanwhile count twice, not never.
        """
        nodes, licences, reserved, counted = await asyncio.gather(
            self._run(machine.NODES),
            self._run(["scontrol", "show", "licenses", "-o"]),
            self.reservations(),
            self._active(partial(machine.counts, exclusive=self._exclusive)),
        )
        jobs = machine.parse_jobs(await self._active(machine.jobs), counted, self._share)
        partitions, rooms = machine.parse_nodes(nodes), machine.parse_rooms(nodes)
        return Plan(now, partitions, jobs, reserved, rooms, machine.parse_licences(licences))

    async def _active(self, show: Show) -> bytes:
        """Return what is shown of all active jobs, then of the tasks that the last look has shown in one row."""
        printed = await self._run(show(()))
        with suppress(UnknownJobError):  # it has ended
            printed += await self._run(show(self._in_one_row)) if self._in_one_row else b""
        return printed

    async def node_states(self) -> dict[str, NodeState]:
        """Return the states of all nodes."""
        return machine.parse_states(await self._run(machine.NODES))

    async def default_partition(self) -> str | None:
        """Return the partition of jobs that name none; None: there is none."""
        return machine.parse_default(await self._run(["sinfo", "-h", "-a", "-o", "%P"]))

    def _named(self, job_id: str) -> str:
        """Return how a command names a job, so that it does not mean the whole array."""
        return self._tasks.get(job_id, job_id)

    async def _control(self, argv: list[str], failure: Failure = commands.failure) -> None:
        async with self._controls:
            await self._run(argv, failure)

    async def _run(self, argv: list[str], failure: Failure = commands.failure) -> bytes:
        return await self._programs.run(argv, failure)


def _in_one_row(rows: Iterable[JobRow], wanted: Callable[[JobRow], bool]) -> list[str]:
    """Return the arrays of which several tasks have one row, of the `wanted` rows."""
    return sorted({row.array for row in rows if row.array is not None and row.task is None and wanted(row)})


def _tasks_among(rows: Iterable[JobRow]) -> dict[str, str]:
    return {row.job_id: f"{row.array}_{row.task}" for row in rows if row.task is not None}
