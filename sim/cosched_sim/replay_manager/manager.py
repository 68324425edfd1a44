"""The replay manager notes when jobs start, and reports their ends when they have run as long as in the trace."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cosched.core.allocation import Allocation, SizeChanged
from cosched.core.effects import Call, Start
from cosched.core.protocol import Reply
from cosched.core.story import What
from cosched_adapters.launcher import JobSpec, PlayingLauncher, SpecError, Told, TraceJob
from cosched_adapters.manager import End, Ended, ManagerError, Report, UnknownJobError
from cosched_adapters.permissions import make_private
from cosched_adapters.replay_time import SharedTime, Time
from cosched_sim.replay_manager.settings import ReplaySettings, read_settings
from cosched_sim.telling import RESIZED, Starts, told_of_call

if TYPE_CHECKING:
    from cosched_sim.workload.allocations import Runs

SECOND = 1_000_000_000  # nanoseconds


def create(domain: str, directory: Path, settings: Mapping[str, object]) -> ReplayManager:
    """Make the manager: the entry point `replay` of the group `cosched.adapters`; SettingError."""
    return ReplayManager(read_settings(domain, directory.parent, settings), directory)


class ReplayManager(PlayingLauncher):
    """See `PlayingLauncher`. In lock-step it reports nothing by itself: `ended` returns the ends of an instant."""

    names_nodes = True  # jobs do nothing, anywhere

    def __init__(self, settings: ReplaySettings, directory: Path) -> None:
        self.time: Time = settings.time
        self.lockstep = self.preempts = isinstance(settings.time, SharedTime)
        self.jobs: Sequence[TraceJob] = ()
        self.off = settings.off
        self.tells = settings.events
        self.events: list[str] = []
        self._starts = Starts()
        self._settings = settings
        self._nodes = 0
        self._journal = None if self.lockstep else Journal(directory)
        self._launched: dict[str, Launch] = {}
        self.runs = _new_runs() if self.lockstep else None  # running jobs by their rows in the trace, and what each had
        self.first_starts: dict[str, int] = {}  # in lock-step
        self.restarts: dict[str, int] = {}  # when last, of jobs that were queued again, but not by preemption
        self.requeues = False  # whether any job was queued again, be it by preemption
        self._alarms: dict[str, asyncio.TimerHandle] = {}
        self._reports: asyncio.Queue[Report] = asyncio.Queue()

    @property
    def nodes(self) -> int:
        """The size of the machine."""
        return self._nodes

    async def open(self) -> dict[str, Report | None]:
        # Imports all readers of traces, which other managers do not need.
        from cosched_sim.replay_manager.trace import read_trace_jobs

        self.jobs, self._nodes = await asyncio.to_thread(read_trace_jobs, self._settings)
        if self._journal is None:
            return {}
        self._launched = self._journal.read()
        self._journal.keep(self._launched.values())
        now = self.time.now()
        for launch in self._launched.values():
            if launch.end > now:
                self._await_end(launch)
        return {job: _ended(launch) if launch.end <= now else None for job, launch in self._launched.items()}

    def check(self, spec: JobSpec) -> None:  # noqa: ARG002
        raise SpecError("job", "the jobs of this domain come from a trace that it replays")

    async def launch(self, spec: JobSpec) -> None:
        if spec.job_id in self._launched:
            return
        job = self.jobs[int(spec.job_id) - 1]
        now = math.floor(self.time.now())
        launch = Launch(spec.job_id, now, now + job.run)
        if self.runs is not None:
            self.first_starts.setdefault(spec.job_id, now)
            if spec.job_id in self.restarts:
                self.restarts[spec.job_id] = now
            self.runs.go_on(job.number - 1, job.run, Allocation(spec.nodes, now, now + spec.walltime), now)
        if self._journal is not None:
            self._journal.note(launch)
            self._await_end(launch)
        self._launched[spec.job_id] = launch

    async def cancel(self, job_id: str) -> None:
        launch = self._launched.get(job_id)
        if launch is None:
            raise UnknownJobError(f"no job {job_id[:100]!a} was launched here")
        if self._journal is None:
            raise ManagerError("a job of a replay in lock-step is cancelled by its conductor only")
        alarm = self._alarms.pop(job_id, None)
        if alarm is None:  # it has ended
            return
        alarm.cancel()
        self._launched[job_id] = launch._replace(end=math.floor(self.time.now()), how=End.CANCELLED)
        self._journal.note(self._launched[job_id])
        self._reports.put_nowait(_ended(self._launched[job_id]))

    async def reports(self) -> AsyncIterator[Report]:
        while True:
            yield await self._reports.get()

    async def forget(self, job_id: str) -> None:
        if job_id in self._alarms:
            raise ManagerError(f"job {job_id} has not ended")
        self._launched.pop(job_id, None)

    async def close(self) -> None:
        for alarm in self._alarms.values():
            alarm.cancel()
        self._alarms.clear()

    # In lock-step

    @property
    def next_end(self) -> int | None:
        """Return when the next running job ends; None if none runs."""
        return None if self.runs is None else self.runs.next

    def ended(self, now: int) -> list[str]:
        """Return the jobs that end now, in the order of the trace, each once."""
        ended = []
        while self.runs is not None and (row := self.runs.complete(now)) is not None:
            ended.append(str(row + 1))
        return ended

    def allocations(self, *, by_time: bool) -> list[tuple[Any, ...]]:
        """Return the rows of `workload.allocations.Allocations` until now, perhaps in that order."""
        if self.runs is None:
            return []
        had = self.runs.allocations(math.floor(self.time.now()))
        return (had.by_time() if by_time else had).rows()

    def play(self, job_id: str, allocation: Allocation) -> None:
        """See the protocol; in lock-step, as nobody else has jobs whose size changes."""
        if self.runs is None:
            return
        job = self.jobs[int(job_id) - 1]
        self.runs.go_on(job.number - 1, job.run, allocation, math.floor(self.time.now()))

    def requeue(self, job_id: str, *, keeps_work: bool) -> None:
        """See the protocol; in lock-step, as no other replay has jobs that are preempted (`preempts`)."""
        if self.runs is None or self._launched.pop(job_id, None) is None:
            return
        self.requeues = True
        self.runs.requeue(self.jobs[int(job_id) - 1].number - 1, math.floor(self.time.now()), keeps_work=keeps_work)

    def begins_anew(self, job_id: str) -> None:
        """Note that a running job is queued again, but not by preemption: its last start counts."""
        self.restarts.setdefault(job_id, self.first_starts[job_id])

    def noted(self, change: Told, *, linked: bool, of_pair: bool) -> None:
        """See the protocol. With whom a job is linked is noted, too, and so is its size when it starts."""
        nodes = {}
        if isinstance(change, SizeChanged):
            gave_to = {} if change.gave_to is None else {"gave_to": change.gave_to}
            self._note(change.job, RESIZED, {"nodes": change.allocation.nodes, **gave_to})
            return
        if isinstance(change, Start) or change.what is What.STARTED:
            if (both := self._starts.both(change)) is None:
                return
            change, start = both
            nodes = {} if start.allocation is None else {"nodes": start.allocation.nodes}
        self._note(change.job, change.what, change.stored(), linked=linked, of_pair=of_pair, **nodes)

    def called(self, call: Call, reply: Reply) -> None:
        self._note(call.job, type(call.request).__name__, told_of_call(call, reply))

    def _note(self, job: str, what: str, detail: Mapping[str, object], **beside: object) -> None:
        assert isinstance(self.time, SharedTime)
        self.events.append(json.dumps({"at": self.time.place(), "job": job, "event": what, "detail": detail, **beside}))

    def stop(self, job_id: str, *, completed: bool) -> None:
        """In lock-step: a job ends before its time, or has never run."""
        from cosched_sim.workload.allocations import AllocationEnd  # needs numpy

        assert self.runs is not None
        how = AllocationEnd.COMPLETED if completed else AllocationEnd.STOPPED
        self.runs.stop(int(job_id) - 1, math.floor(self.time.now()), how)

    # By the wall clock

    def _await_end(self, launch: Launch) -> None:
        wait = max(0.0, launch.end - self.time.now()) / self.time.speed
        self._alarms[launch.job] = asyncio.get_running_loop().call_later(wait, self._look, launch)

    def _look(self, launch: Launch) -> None:
        if self.time.now() < launch.end:
            self._await_end(launch)
            return
        del self._alarms[launch.job]
        self._reports.put_nowait(_ended(launch))


def _new_runs() -> Runs:
    from cosched_sim.workload.allocations import Runs  # needs numpy

    return Runs()


def _ended(launch: Launch) -> Ended:
    code = 0 if launch.how is End.EXITED else None
    return Ended(launch.job, launch.how, launch.end * SECOND, started_at=launch.started * SECOND, exit_code=code)


class Launch(NamedTuple):
    """A job that runs from `started` to `end` (instants of the service's time), and `how` it ends."""

    job: str
    started: int
    end: int
    how: End = End.EXITED


class Journal:
    """A file of launches, in a folder of its own. ManagerError if it cannot be read or written."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "launches"

    def read(self) -> dict[str, Launch]:
        """Return the last line of each job. Ignore a line that was not written completely."""
        try:
            make_private(self._path.parent)
            text = self._path.read_text() if self._path.exists() else ""
            launches = [_launch(line) for line in text[: text.rfind("\n") + 1].splitlines()]
        except (OSError, ValueError) as error:
            raise ManagerError(f"{self._path} cannot be read: {error}") from None
        return {launch.job: launch for launch in launches}

    def keep(self, launches: Iterable[Launch]) -> None:
        """Replace the file's contents by these launches."""
        new = self._path.with_suffix(".new")
        try:
            new.write_text("".join(map(_line, launches)))
            new.replace(self._path)
        except OSError as error:
            raise ManagerError(f"{self._path} cannot be written: {error.strerror}") from None

    def note(self, launch: Launch) -> None:
        """Append a launch, which replaces earlier lines of its job."""
        try:
            with self._path.open("a") as file:
                file.write(_line(launch))
        except OSError as error:
            raise ManagerError(f"{self._path} cannot be written: {error.strerror}") from None


def _line(launch: Launch) -> str:
    return f"{launch.job} {launch.started} {launch.end} {launch.how.value}\n"


def _launch(line: str) -> Launch:
    job, started, end, how = line.split(" ")
    return Launch(job, int(started), int(end), End(how))
