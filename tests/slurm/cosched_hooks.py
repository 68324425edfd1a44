"""cosched's hooks as a site has them, a service for them, and jobs' hooks run by hand as Slurm runs them."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any, TypeVar

import pytest

from cosched_adapters.slurm.hook_server import HookEnd, HookServer, Offer
from deploy.slurm.lab import Lab, wait_for
from deploy.slurm.lab.installed_hooks import InstalledHooks

_T = TypeVar("_T")
PATIENCE = 60  # seconds, of hooks, unless a test says how long: more than any pause of a service that runs
_SOON = 60  # seconds; a safety net


def check_for_compiler() -> None:
    """Skip the test where there is no C compiler."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler (cc) to build cosched-hook with")


class Site(InstalledHooks):
    """Installed hooks, and their scripts run by hand; the test is skipped where there is no C compiler."""

    def __init__(self, folder: Path, patience: int = PATIENCE) -> None:
        check_for_compiler()
        super().__init__(folder, patience)
        self._running: list[subprocess.Popen[bytes]] = []

    def run(self, script: str, environment: Mapping[str, str | bytes], **options: Any) -> subprocess.Popen[bytes]:
        """Start one of the scripts with nothing else in its environment, as Slurm does."""
        process = subprocess.Popen([self.folder / script], env=environment, cwd="/", **options)
        self._running.append(process)
        return process

    def prolog(self, job: int = 17, comment: str | bytes = "cosched:pair=p", **options: Any) -> subprocess.Popen[bytes]:
        """Start the hook of a job that is ready."""
        return self.run("prolog", ready(job, comment), **options)

    def kill(self) -> None:
        """End the scripts that still run, if a test has failed."""
        for process in self._running:
            process.kill()
            process.wait()

    def lab(self, name: str = "intrepid", **options: Any) -> Lab:
        """A laboratory of one cluster with these hooks, not yet started."""
        return Lab(names=(name,), **self.options, **options)


@contextmanager
def site(patience: int = PATIENCE) -> Iterator[Site]:
    """The hooks in a temporary folder with a short path."""
    with tempfile.TemporaryDirectory(prefix="cosched-") as folder:
        site = Site(Path(folder), patience)
        try:
            yield site
        finally:
            site.kill()


@pytest.fixture
def hooks() -> Iterator[Site]:
    """The same, for one test."""
    with site() as folder:
        yield folder


@pytest.fixture
def service(hooks: Site) -> Iterator[Service]:
    """A service for these hooks."""
    with Service(hooks.socket) as service:
        yield service


def ready(job: int, comment: str | bytes) -> dict[str, str | bytes]:
    """What Slurm gives a PrologSlurmctld."""
    return {
        "SLURM_JOB_ID": str(job), "SLURM_JOB_NUM_NODES": "4", "SLURM_JOB_NODELIST": "a[1-4]",
        "SLURM_JOB_RESTART_COUNT": "0", "SLURM_JOB_USER": "ann", "SLURM_JOB_UID": "1000", "SLURM_JOB_NAME": "flow",
        "SLURM_JOB_COMMENT": comment, "SLURM_JOB_STDIN": "/dev/null",
    }  # fmt: skip


async def _last_tasks() -> None:
    """Let what was begun in this loop end: connections that were being accepted."""
    while others := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(others)
    for _ in range(3):  # a transport closes in steps
        await asyncio.sleep(0)


class Service:
    """A HookServer in an event loop of its own, and what it was told: "offer 1", "withdrawn 1", "COMPLETED 1"."""

    def __init__(self, socket: Path, slurm_user: int | None = None, gate_lead: float = 0.0) -> None:
        self.told: list[str] = []
        self.offers: list[Offer] = []
        self.ends: list[HookEnd] = []
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever)
        self._thread.start()
        self.server = HookServer(
            socket,
            slurm_user=os.geteuid() if slurm_user is None else slurm_user,
            on_offer=self._offer,
            on_withdrawn=lambda job: self.told.append(f"withdrawn {job}"),
            on_killed=lambda offer: self.told.append(f"killed {offer.job_id}"),
            on_starting=lambda job, restarts: self.told.append(f"starting {job} {restarts}"),
            on_ended=self._ended,
            gate_lead=gate_lead,
        )

    def _offer(self, offer: Offer) -> None:
        self.offers.append(offer)
        self.told.append(f"offer {offer.job_id}")

    def _ended(self, end: HookEnd) -> None:
        self.ends.append(end)
        self.told.append(f"{end.state} {end.job_id}")

    def __enter__(self) -> Service:
        try:
            self.open()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
        self._stop()

    def _stop(self) -> None:
        asyncio.run_coroutine_threadsafe(_last_tasks(), self._loop).result(_SOON)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def open(self) -> None:
        """Serve."""
        asyncio.run_coroutine_threadsafe(self.server.open(), self._loop).result(_SOON)

    def close(self) -> None:
        """Stop serving; may be opened again."""
        asyncio.run_coroutine_threadsafe(self.server.close(), self._loop).result(_SOON)

    def occupy(self, until: Event) -> None:
        """Keep it from hearing anything until then."""
        self._loop.call_soon_threadsafe(until.wait)

    def call(self, function: Callable[..., _T], *arguments: Any) -> _T:
        """Call the server in its loop."""

        async def called() -> _T:
            return function(*arguments)

        return asyncio.run_coroutine_threadsafe(called(), self._loop).result(_SOON)

    def start(self, job: int, at: float | None = None) -> bool:
        """Let a job start."""
        return self.call(self.server.start, str(job), at)

    def give_back(self, job: int) -> bool:
        """Let a job's turn pass."""
        return self.call(self.server.give_back, str(job))

    def end(self, job: int) -> bool:
        """End a job's stale hook."""
        return self.call(self.server.end, str(job))

    def wait_for(self, what: str, times: int = 1) -> None:
        """Until it has been told this so often."""
        wait_for(lambda: self.told.count(what) >= times, f"{what!r}; told so far: {self.told}")

    def wait_for_offer(self, job: int, times: int = 1) -> Offer:
        """The job's offer, once there have been so many."""
        self.wait_for(f"offer {job}", times)
        return [offer for offer in self.offers if offer.job_id == str(job)][times - 1]
