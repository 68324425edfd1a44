"""The local manager runs jobs as processes of this host. Its slots may be parts of a processor of several sizes."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import secrets
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from pathlib import Path

from cosched_adapters.launcher import ElasticLauncher, JobSpec, NodesBusyError, NoRoomError, SpecError
from cosched_adapters.local.checks import check_spec
from cosched_adapters.local.environment import Account, account, environment
from cosched_adapters.local.files import SHORTAGES, BadFileError
from cosched_adapters.local.follow import LocalJob, follow
from cosched_adapters.local.jobfile import JobFile
from cosched_adapters.local.limits import CpuLimits
from cosched_adapters.local.process import ForkServer
from cosched_adapters.local.processes import boot
from cosched_adapters.local.settings import LocalSettings, read_settings
from cosched_adapters.local.spool import Spool
from cosched_adapters.manager import ManagerError, Report, UnknownJobError

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, *SHORTAGES)
_LOG = logging.getLogger(__name__)


def create(domain: str, directory: Path, settings: Mapping[str, object]) -> LocalManager:
    """Make the manager: the entry point `local` of the group `cosched.adapters`; SettingError."""
    return LocalManager(domain, directory, read_settings(directory, settings))


class LocalManager(ElasticLauncher):
    """See `adapters.launcher`."""

    preempts = names_nodes = True

    def __init__(self, domain: str, folder: Path, settings: LocalSettings) -> None:
        self.domain, self.settings = domain, settings
        self._spool = Spool(settings.spool, folder)
        self._forks = ForkServer(settings.spool)
        self._limits = CpuLimits(settings.cpu_percent, domain, settings.spool)
        self._own = account(None)
        self._jobs: dict[str, LocalJob] = {}
        self._reports: asyncio.Queue[Report] = asyncio.Queue()
        self.may_have_forgotten = False
        self._boot_is_noted = False

    @property
    def nodes(self) -> int:
        """The number of slots."""
        return self.settings.slots

    @property
    def grace(self) -> float:
        return self.settings.grace

    @property
    def node_names(self) -> Sequence[str]:
        return self.settings.node_names

    async def open(self) -> dict[str, Report | None]:
        """See the protocol. Launches that were recorded but not started yet are started now."""
        for job_id in await asyncio.to_thread(self._spool.open):
            self._jobs[job_id] = LocalJob(job_id, self._slots_of(job_id), found=True)
            self._jobs[job_id].look(self._spool)
        await asyncio.to_thread(self._limits.open, self._jobs)
        with contextlib.suppress(OSError):  # the first launch tries again
            self._forks.begin()
        self.may_have_forgotten = self._spool.is_of_another_boot()
        last = {job_id: job.last for job_id, job in self._jobs.items()}
        for job in self._jobs.values():
            if not job.ended:
                self._follow(job)
        return last

    def check(self, spec: JobSpec) -> None:
        check_spec(spec, self.nodes)
        account(spec.user)

    async def launch(self, spec: JobSpec) -> None:
        if spec.job_id in self._jobs:
            return
        check_spec(spec, self.nodes)
        slots = self._free_slots(spec.nodes) if spec.where is None else self._named_slots(spec.where)
        job = self._jobs[spec.job_id] = LocalJob(spec.job_id, slots)
        try:
            self._commit(spec, slots, await self._account(spec.user))
        except OSError as error:
            del self._jobs[spec.job_id]
            kind = NoRoomError if error.errno in _NO_ROOM else ManagerError
            raise kind(f"job {spec.job_id} cannot be recorded: {error.strerror}") from error
        except ManagerError:
            del self._jobs[spec.job_id]
            raise
        with contextlib.suppress(OSError):  # `follow` tries again, and logs why it fails
            job.process = self._forks.start(job.job_id)
        self._follow(job)

    async def _account(self, user: str | None) -> Account:
        if user in (None, self._own.variables.get("USER")):
            return self._own
        return await asyncio.to_thread(account, user)  # a directory service may take long to answer

    def _commit(self, spec: JobSpec, slots: list[int], who: Account) -> None:
        if not self._boot_is_noted:
            self._spool.note_boot()
            self._boot_is_noted = True
        token = secrets.token_hex(16)
        try:
            group, nice = self._limits.begin(spec.job_id, slots)
        except OSError as error:
            reason = f"its part of a processor cannot be set: {error.strerror}"
            raise ManagerError(f"job {spec.job_id}: {reason}") from error
        launch = JobFile(
            job_id=spec.job_id,
            token=token,
            boot=boot(),
            arguments=list(spec.command),
            script=spec.script is not None,
            environment=environment(spec, self.domain, who, self._names(slots), token),
            directory=spec.directory,
            output=spec.output or f"cosched-{spec.job_id}.out",
            error=spec.error,
            walltime=spec.walltime,
            grace=round(self.settings.grace * 1000),
            uid=who.uid,
            groups=list(who.groups),
            slots=slots,
            group=group,
            nice=nice,
        )
        self._spool.commit(launch, spec.script)

    def nodes_of(self, job_id: str) -> tuple[str, ...]:
        job = self._known(job_id)
        return () if job.ended else tuple(self._names(job.slots))

    def _names(self, slots: Iterable[int]) -> list[str]:
        return [self.node_names[slot] for slot in slots]

    async def grow(self, job_id: str, nodes: int) -> None:
        job = self._known(job_id)
        if not job.ended and len(job.slots) < nodes:
            await self._note_slots(job, [*job.slots, *self._free_slots(nodes - len(job.slots))])

    async def keep(self, job_id: str, names: Collection[str]) -> None:
        job = self._known(job_id)
        kept = [slot for slot in job.slots if self.node_names[slot] in names]
        if not job.ended and kept != job.slots:
            await self._note_slots(job, kept)

    async def _note_slots(self, job: LocalJob, slots: list[int]) -> None:
        """Give a job these slots. While that is being recorded it has the old ones and the new ones."""
        before = job.slots
        job.slots = [*before, *(slot for slot in slots if slot not in before)]
        try:
            await asyncio.to_thread(self._spool.note_slots, job.job_id, slots)
            await asyncio.to_thread(self._limits.change, job.job_id, slots)
        except OSError as error:
            job.slots = before
            raise ManagerError(f"job {job.job_id}: its nodes cannot be recorded: {error.strerror}") from error
        job.slots = slots

    def _known(self, job_id: str) -> LocalJob:
        if (job := self._jobs.get(job_id)) is None:
            raise UnknownJobError(f"no job {job_id[:100]!a} was launched here")
        return job

    async def cancel(self, job_id: str) -> None:
        job = self._known(job_id)
        if job.ended:
            return
        try:
            await asyncio.to_thread(self._spool.mark_cancelled, job_id)
            job.cancel(self._spool)
        except OSError as error:
            raise ManagerError(f"job {job_id} cannot be cancelled: {error.strerror}") from error

    async def reports(self) -> AsyncIterator[Report]:
        while True:
            yield await self._reports.get()

    async def forget(self, job_id: str) -> None:
        job = self._jobs.get(job_id)
        if job is None:
            return
        if not job.ended:
            raise ManagerError(f"job {job_id} has not ended")
        try:
            await asyncio.to_thread(self._spool.remove, job_id)
            await asyncio.to_thread(self._limits.end, job_id)
        except OSError as error:
            raise ManagerError(f"job {job_id} cannot be forgotten: {error.strerror}") from error
        self._jobs.pop(job_id, None)

    async def close(self) -> None:
        tasks = [job.task for job in self._jobs.values() if job.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for job in self._jobs.values():
            job.close()
        self._jobs.clear()
        await self._forks.close()
        self._limits.close()
        self._spool.close()

    def _follow(self, job: LocalJob) -> None:
        following = follow(job, self._spool, self._forks, self._reports.put_nowait)
        job.task = asyncio.create_task(following, name=f"job {job.job_id}")
        job.task.add_done_callback(_say_failure)

    def _slots_of(self, job_id: str) -> list[int]:
        try:
            return self._spool.slots(job_id)
        except BadFileError:
            return []  # its end will follow, since such a file cannot be run

    def _free(self) -> list[int]:
        busy = {slot for job in self._jobs.values() if not job.ended for slot in job.slots}
        return [slot for slot in range(self.nodes) if slot not in busy]

    def _named_slots(self, names: Collection[str]) -> list[int]:
        of_name = {name: slot for slot, name in enumerate(self.node_names)}
        if unknown := [name for name in names if name not in of_name]:
            known = f"{self.node_names[0]} to {self.node_names[-1]}"
            raise SpecError("where", f"this machine has no {unknown[0][:100]!a}: {known}")
        free = set(self._names(self._free()))
        if busy := [name for name in names if name not in free]:
            raise NodesBusyError(f"{', '.join(busy)} wanted, which other jobs have")
        return [of_name[name] for name in names]

    def _free_slots(self, wanted: int) -> list[int]:
        free = self._free()
        if len(free) < wanted:
            raise NodesBusyError(f"{wanted} slots wanted, {len(free)} of {self.nodes} are free")
        return free[:wanted]


def _say_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _LOG.error("%s is no longer followed", task.get_name(), exc_info=error)
