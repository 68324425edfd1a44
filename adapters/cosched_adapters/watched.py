"""What adapters have in common that look at a queue: orders, reports in their order, looks when they are wanted."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from typing import Generic, Protocol

from cosched.core.protocol import Named
from cosched.words.file_errors import reason_of
from cosched_adapters.batch_system import BatchReport, JobOutlook, Known
from cosched_adapters.manager import ManagerError, UnknownJobError
from cosched_adapters.register import Job, Register
from cosched_adapters.setting_checks import QueueSettings
from cosched_adapters.tasks import OwnTasks
from cosched_adapters.watch import Watch

_AFTER_A_TRY = 0.5  # seconds for which a job that was passed over is kept back after the try that it came during


class Listener(Protocol):
    """What hears the hooks."""

    async def open(self) -> None:
        """Begin. OSError."""

    async def close(self) -> None:
        """End."""


class WatchedQueue(ABC, Generic[Job]):
    """A part of a `BatchSystem`, which gives it `system`, `_register`, `_look`, `_give_back`, `_name` and `hasten`.

    A report is done when the next one is asked for.
    """

    system: str  # its name
    others_turn = 0.0  # seconds for which a released job is kept back, so that others get its nodes offered first
    _register: Register[Job]
    _nodes = 0

    def __init__(self, settings: QueueSettings, log: logging.Logger, failures: int = logging.WARNING) -> None:
        """`log` and `failures`: see `OwnTasks`."""
        self._common = settings
        self._tasks = OwnTasks(log, failures)
        self._reports: asyncio.Queue[BatchReport] = asyncio.Queue()
        self._watch = Watch(self._look, settings.poll_interval)

    @abstractmethod
    async def _look(self) -> None:
        """Look at the queue. ManagerError."""

    @abstractmethod
    async def _give_back(self, job: Job, pause: float, offer: int | None) -> bool:
        """See `BatchSystem.give_back`."""

    @abstractmethod
    async def hasten(self, job_id: str) -> None:
        """See the protocol."""

    @abstractmethod
    async def _name(self, job: Job, named: Named | None) -> None:
        """Let a job name another mate, or none; ValueError, ManagerError."""

    def _take_told(self) -> list[BatchReport]:
        """Remove the reports that are not read yet, as `open` does: most only repeat what it returns."""
        told = [self._reports.get_nowait() for _ in range(self._reports.qsize())]
        for _ in told:
            self._reports.task_done()
        return told

    async def _serve(self, listener: Listener, whom: str) -> None:
        """Hear `whom`, the hooks, and begin to look at the queue. ManagerError."""
        where = self._common.hook_socket
        try:
            await listener.open()
        except OSError as error:
            raise ManagerError(f"{whom} cannot be served at {where}: {reason_of(error, where)}") from error
        self._tasks.begin(self._watch.run())

    def _all_known(self) -> dict[str, Known]:
        return {job.job_id: job.known() for job in self._register.jobs.values()}

    def _of(self, job_id: str) -> Job:
        job = self._register.jobs.get(job_id)
        if job is None:
            raise UnknownJobError(f"no job {job_id[:64]!a} with a mate is known to {self.system}")
        return job

    @property
    def nodes(self) -> int:
        return self._nodes

    @property
    def pass_over(self) -> float:
        return self._common.try_patience + _AFTER_A_TRY

    async def reports(self) -> AsyncIterator[BatchReport]:
        while True:
            yield await self._reports.get()
            self._reports.task_done()

    async def look(self, age: float = 0.0) -> bool:
        """See the protocol; at most once a second."""
        answered = await self._watch.fresh(age)
        await self._reports.join()
        return answered

    def looked_at(self) -> float | None:
        return self._watch.seen_at

    def outlooks(self) -> Mapping[str, JobOutlook]:
        return self._register.outlooks()

    async def set_task_variables(self, job_id: str, finding: Mapping[str, str]) -> None:
        """See the protocol: the answer to the hook tells the job."""
        self._of(job_id).finding = dict(finding)

    async def give_back(self, job_id: str, backoff: float | None = None, offer: int | None = None) -> bool:
        """See the protocol; continues if the caller is cancelled."""
        pause = self._common.backoff if backoff is None else backoff
        return await self._tasks.finish(self._give_back(self._of(job_id), pause, offer))

    async def release(self, job_id: str, offer: int | None = None) -> bool:
        """See the protocol; continues if the caller is cancelled."""
        return await self._tasks.finish(self._step_back(self._of(job_id), offer))

    async def _step_back(self, job: Job, offer: int | None) -> bool:
        return await self._give_back(job, self.others_turn, offer)

    async def try_start(self, job_id: str, patience: float | None = None) -> int:
        limit = self._common.try_patience if patience is None else patience
        return await self._register.wait_for_offer(self._of(job_id), limit, lambda: self.hasten(job_id))

    async def relink(self, job_id: str, named: Named) -> None:
        await self._name(self._of(job_id), named)

    async def part(self, job_id: str) -> None:
        await self._name(self._of(job_id), None)

    async def forget(self, job_id: str) -> None:
        self._register.forget(job_id)

    async def _stop(self, listener: Listener) -> None:
        await self._tasks.close()
        self._watch.close()
        await listener.close()

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
