"""Runs Slurm's commands, with a deadline, a limit for their output, and an environment of our own making."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from cosched.adapters.manager import ManagerError, UnavailableError, UnknownJobError
from cosched.adapters.slurm import commands, machine, reservations
from cosched.adapters.slurm.commands import JobRow
from cosched.adapters.slurm.plan import Plan
from cosched.adapters.slurm.reservations import Reservation, ReservationError
from cosched.adapters.slurm.settings import SlurmSettings

_T = TypeVar("_T")
_Failure = Callable[[str, int, bytes], ManagerError]
_MOST_PRINTED = 256 << 20  # bytes: a million jobs
_MOST_CONTROLS = 4  # concurrent commands that change jobs
_MOST_IDS = 1000  # in one command
_CHUNK = 1 << 16


class Slurm:
    """One cluster. Calls raise ManagerError, or UnavailableError if slurmctld does not answer."""

    def __init__(self, settings: SlurmSettings) -> None:
        self._bin = settings.bin
        self._timeout = settings.command_timeout
        self._controls = asyncio.Semaphore(_MOST_CONTROLS)
        # Nothing else of our environment: variables such as SQUEUE_* change the output.
        self._environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "SLURM_TIME_FORMAT": "%s"}
        conf = settings.conf or os.environ.get("SLURM_CONF")
        if conf:
            self._environment["SLURM_CONF"] = str(conf)

    async def queue(self) -> list[JobRow]:
        """Return all jobs, without their comments."""
        return commands.parse_rows(await self._run(commands.queue()))

    async def details(self, job_ids: Sequence[str]) -> list[JobRow]:
        """Return those of the jobs that Slurm knows, with their comments."""
        rows: list[JobRow] = []
        for start in range(0, len(job_ids), _MOST_IDS):
            with suppress(UnknownJobError):  # Slurm says so if only one job is asked for
                printed = await self._run(commands.details(job_ids[start : start + _MOST_IDS]))
                rows += commands.parse_rows(printed, comments=True)
        return rows

    async def set_start(self, job_id: str, delay: int) -> None:
        """Let a job start in `delay` seconds at the earliest. UnknownJobError, NotPendingError."""
        await self._control(commands.set_start(job_id, delay))

    async def set_comment(self, job_id: str, comment: str) -> None:
        """Replace a job's comment. UnknownJobError."""
        await self._control(commands.set_comment(job_id, comment))

    async def requeue(self, job_id: str) -> None:
        """End a batch job and queue it again. UnknownJobError; ManagerError if it is not launched yet or is ending."""
        await self._control(commands.requeue(job_id))

    async def cancel(self, job_id: str) -> None:
        """Cancel a job; do nothing if it has ended or is unknown."""
        await self._control(commands.cancel(job_id))

    async def config(self) -> dict[str, str]:
        """Return Slurm's configuration: parameters and values."""
        return commands.parse_config(await self._run(commands.show_config()))

    async def nodes(self) -> int:
        """Return how many nodes the cluster has, in any state."""
        return commands.parse_nodes(await self._run(commands.nodes()))

    async def addresses(self) -> list[str]:
        """Return the addresses of the nodes, each once."""
        return commands.parse_addresses(await self._run(commands.addresses()))

    # Reservations. ReservationError: nothing has changed; UnavailableError: that is unknown, so take back what may be

    async def reserve(self, name: str, user: str, nodes: Sequence[str], start: int | None, end: int) -> None:
        """Reserve these nodes for a user's jobs from `start` (None: now) to `end`, in seconds since 1970."""
        await self._control(reservations.create(name, user, nodes, start, end), reservations.failure)
        made = next((found for found in await self.reservations() if found.name == name), None)
        try:
            reservations.check_count(made, nodes)
        except ReservationError:
            with suppress(ReservationError):
                await self.delete_reservation(name)
            raise

    async def move_reservation(self, name: str, nodes: Sequence[str], start: int | None, end: int) -> None:
        """Move a reservation whose job does not run; refused, it stays where it is."""
        await self._control(reservations.move(name, nodes, start, end), reservations.failure)

    async def put_in(self, job_id: str, name: str) -> None:
        """Let a pending job start in a reservation only. UnknownJobError: it has ended."""
        await self._control(reservations.put_in(job_id, name), reservations.failure)

    async def take_out(self, job_id: str) -> None:
        """Take a job, pending or with nodes, out of its reservation. UnknownJobError: it has ended."""
        await self._control(reservations.take_out(job_id), reservations.failure)

    async def delete_reservation(self, name: str) -> None:
        """Delete a reservation in which no job is."""
        await self._control(reservations.delete(name), reservations.failure)

    async def reservations(self) -> list[Reservation]:
        """Return all reservations, whoever made them."""
        return reservations.parse(await self._run(reservations.show()))

    async def jobs_inside(self) -> dict[str, list[str]]:
        """Return the jobs in each reservation, waiting or with nodes."""
        inside: dict[str, list[str]] = {}
        for job in machine.parse_jobs(await self._run(machine.jobs())):
            if job.reservation is not None:
                inside.setdefault(job.reservation, []).append(job.job_id)
        return inside

    async def plan(self, now: int) -> Plan:
        """Return what one look at the cluster shows, from the instant `now` on."""
        partitions = machine.parse_nodes(await self._run(machine.nodes()))
        jobs = machine.parse_jobs(await self._run(machine.jobs()))
        return Plan(now, partitions, jobs, await self.reservations())

    async def _control(self, argv: list[str], failure: _Failure = commands.failure) -> None:
        async with self._controls:
            await self._run(argv, failure)

    async def _run(self, argv: list[str], failure: _Failure = commands.failure) -> bytes:
        name = argv[0]
        process = await self._start(argv)
        try:
            async with asyncio.timeout(self._timeout):
                printed, said = await asyncio.gather(_read(process, process.stdout), _read(process, process.stderr))
                code = await process.wait()
        except TimeoutError:
            raise UnavailableError(f"{name}: no answer from Slurm within {self._timeout:g} s") from None
        finally:
            await _end(process)
        if len(printed) > _MOST_PRINTED:
            raise ManagerError(f"{name} printed more than {_MOST_PRINTED} bytes")
        if code != 0:
            raise failure(name, code, said)
        return printed

    async def _start(self, argv: list[str]) -> Process:
        program = shutil.which(argv[0], path=self._bin or self._environment["PATH"])
        if program is None:
            raise ManagerError(f"{argv[0]} is not found in {self._bin or 'PATH'}")
        try:
            return await asyncio.create_subprocess_exec(
                program,
                *argv[1:],
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=PIPE,
                cwd="/",
                env=self._environment,
                start_new_session=True,  # so that it can be killed with its children
            )
        except OSError as error:
            raise ManagerError(f"{argv[0]} cannot be run: {error.strerror}") from error


async def _read(process: Process, stream: asyncio.StreamReader | None) -> bytes:
    """Return the output. If it exceeds the limit, return a little more than the limit, and kill the process."""
    assert stream is not None
    parts: list[bytes] = []
    size = 0
    while part := await stream.read(_CHUNK):
        if size > _MOST_PRINTED:
            _kill(process)
            continue
        parts.append(part)
        size += len(part)
    return b"".join(parts)


async def _end(process: Process) -> None:
    """Kill a process, and read its pipes to their ends, since `wait` waits for these."""
    if process.returncode is None:
        _kill(process)
        await asyncio.gather(_discard(process.stdout), _discard(process.stderr))
        await process.wait()


def _kill(process: Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


async def _discard(stream: asyncio.StreamReader | None) -> None:
    assert stream is not None
    while await stream.read(_CHUNK):
        pass


async def until_it_answers(call: Callable[[], Awaitable[_T]], pauses: Sequence[float] = (0.2, 0.5, 1, 2, 5)) -> _T:
    """Repeat a call while slurmctld does not answer; return its result. The last pause is used for all later tries."""
    tries = 0
    while True:
        try:
            return await call()
        except UnavailableError:
            await asyncio.sleep(pauses[min(tries, len(pauses) - 1)])
            tries += 1
