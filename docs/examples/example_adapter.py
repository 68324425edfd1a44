"""A resource manager that runs nothing: each of its jobs takes a second, whatever its script says."""

import asyncio
import time

from cosched_adapters.launcher import Launcher
from cosched_adapters.manager import End, Ended, SettingError, Started, UnknownJobError


class Sleeper(Launcher):
    """Each method is explained in `cosched_adapters.launcher` and `manager`; `check` refuses nothing."""

    nodes = 0
    may_have_forgotten = True  # it remembers nothing: what ran when the service ended is lost

    def __init__(self, nodes):
        self.nodes, self._jobs, self._reports = nodes, {}, asyncio.Queue()

    async def open(self):
        return {}

    async def launch(self, spec):
        if spec.job_id not in self._jobs:
            self._jobs[spec.job_id] = asyncio.create_task(self._run(spec.job_id))

    async def _run(self, job_id):
        began, how = time.time_ns(), End.EXITED
        self._reports.put_nowait(Started(job_id, began))
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            how = End.CANCELLED
        self._reports.put_nowait(Ended(job_id, how, time.time_ns(), began, exit_code=0))

    async def reports(self):
        while True:
            yield await self._reports.get()

    async def cancel(self, job_id):
        if job_id not in self._jobs:
            raise UnknownJobError(f"there is no job {job_id}")
        self._jobs[job_id].cancel()


def create(domain, directory, settings):
    """The entry point: `settings` are the keys of [manager] that are the adapter's own."""
    if settings.keys() != {"nodes"} or not isinstance(settings["nodes"], int):
        raise SettingError("nodes", "must be a whole number, and the only setting")
    return Sleeper(settings["nodes"])
