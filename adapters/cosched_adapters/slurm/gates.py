"""The gates of a user's own jobs, in the place of Slurm's hooks: they report ready jobs, and get answers (gate_script).

A gate is found again whatever becomes of the service: what it has said stands in its file.
"""

from __future__ import annotations

import asyncio
import fcntl
import getpass
import logging
import os
import re
import signal
import socket
import time
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from cosched.words.file_errors import reason_of
from cosched_adapters.hook_lines import Fields
from cosched_adapters.manager import ManagerError, UnknownJobError
from cosched_adapters.programs import until_it_answers
from cosched_adapters.slurm.calls import Slurm
from cosched_adapters.slurm.commands import JobRow
from cosched_adapters.slurm.comments import CommentError, find
from cosched_adapters.slurm.gate_relay import GateRelay
from cosched_adapters.slurm.hook_protocol import Offer
from cosched_adapters.slurm.settings import SlurmSettings
from cosched_adapters.tasks import OwnTasks

LEAD = 0.5  # seconds for an answer to reach a gate
_LOOK = 0.1  # seconds between two looks at the gates' files
_BEAT = 10.0  # seconds after which a gate that waits is told so again
_UNGATED = 150.0  # seconds after which a job that runs, and has said nothing, has no gate
_SILENT = 5  # seconds within which a gate has said something
_MOST_SILENT = 3  # turns in which it is queued again all the same
_AGAIN = 5.0  # seconds until a job is offered again that could not be queued again
_TOLD = re.compile(r"([0-9]{1,9}) (ready|starting|gone)(?: nodes=([0-9]{1,9}) nodelist=(\S{1,4096})( locked)?)?")
_JOB = re.compile(r"([1-9][0-9]{0,9})\.told")
_LOG = logging.getLogger(__name__)


class OwnSlurm(Slurm):
    """Slurm as its user sees it: other users' jobs name no mates here, and a job in its gate does not run yet."""

    def __init__(self, settings: SlurmSettings) -> None:
        super().__init__(settings)
        self._user = getpass.getuser()
        self.gates: Gates

    async def queue(self) -> list[JobRow]:
        """See Slurm."""
        return [self._own(row) for row in await super().queue()]

    async def details(self, job_ids: Sequence[str]) -> list[JobRow]:
        """See Slurm."""
        return [self._own(row) for row in await super().details(job_ids)]

    def _own(self, row: JobRow) -> JobRow:
        if row.user != self._user:
            return row if row.comment is None else replace(row, comment="")
        if row.state == "RUNNING" and self.gates.keep(row):
            return replace(row, state="CONFIGURING")
        return replace(row, state="COMPLETING") if row.state == "FAILED" and self.gates.save(row) else row


@dataclass(frozen=True, slots=True)
class _Said:
    """What a gate has said last in its job's present turn."""

    turn: int
    word: str
    nodes: int = 0
    nodelist: str = ""
    locked: bool = False  # its file is locked as long as it lives


class Gates:
    """See HookServer, whose place it takes; `folder` is shared with the compute nodes."""

    def __init__(
        self,
        settings: SlurmSettings,
        slurm: Slurm,
        *,
        on_offer: Callable[[Offer], None],
        on_withdrawn: Callable[[str], None],
        on_starting: Callable[[str, int], None],
        jobs: Callable[[], Collection[str]],
    ) -> None:
        """`jobs`: those that may have gates."""
        assert settings.gates is not None
        self._folder, self._settings = settings.gates, settings
        self._port = round(settings.gate_port)  # 0: gates that do not see the folder do not reach us
        self._slurm = slurm
        self._on_offer, self._on_withdrawn, self._on_starting = on_offer, on_withdrawn, on_starting
        self._jobs = jobs
        self._said: dict[str, _Said] = {}
        self._sizes: dict[str, int] = {}
        self._offers: dict[str, Offer] = {}
        self._beats: dict[str, float] = {}
        self._saved: dict[str, int] = {}  # jobs that are queued again since their gates were killed, and in which turn
        self._lost: set[str] = set()  # jobs that Slurm does not queue again
        self._relay: GateRelay | None = None
        self._tasks = OwnTasks(_LOG, logging.DEBUG)

    def load(self) -> None:
        """Read what all gates have said; ManagerError: the folder cannot be used."""
        settings = self._settings
        patience = f"{settings.gate_patience:.0f} {settings.without_service} {settings.hold_time:.0f} {self._at()}\n"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self._folder / "patience").write_text(patience)
        except OSError as error:
            raise ManagerError(f"{self._folder} cannot be used: {reason_of(error, self._folder)}") from error
        for job in self._changed():
            said = self._note(job)
            if said is not None and said.word == "ready" and self._was_let_go(job, said.turn):
                self._said[job] = _Said(said.turn, "starting")  # it will read that, if it has not
            else:
                del self._sizes[job]  # it is heard again

    def _was_let_go(self, job: str, turn: int) -> bool:
        try:
            return (self._folder / f"{job}.answer").read_text().startswith(f"{turn} start ")
        except OSError:
            return False

    def _at(self) -> str:
        """Return HOST:PORT for gates that do not see the folder; empty: they have none."""
        return f"{socket.gethostname()}:{self._port}" if self._port else ""

    async def open(self) -> None:
        """Begin to look at what gates say; ManagerError: the port cannot be used."""
        if self._port:
            self._relay = GateRelay(self._folder, self._port)
            try:
                await self._relay.open()
            except OSError as error:
                why = f"gate_port {self._port} cannot be used: {error.strerror}: choose another"
                raise ManagerError(why) from error
        self._tasks.begin(self._look())

    async def close(self) -> None:
        """Stop looking; the gates wait as long as they are patient."""
        if self._relay is not None:
            await self._relay.close()
        await self._tasks.close()

    def keep(self, row: JobRow) -> bool:
        """Whether a job that Slurm shows as running is kept at its gate."""
        said = self._said.get(row.job_id)
        if said is None or said.turn < row.restarts:
            return time.time() - (row.started_at or 0) < _UNGATED
        return said.word == "ready"

    def save(self, row: JobRow) -> bool:
        """Have Slurm queue a job again whose gate was killed while it waited, as on nodes that others clean up.

        False: that was not so, or Slurm refuses.
        """
        job, said = row.job_id, self._said.get(row.job_id)
        if self._saved.get(job) == row.restarts:
            return True
        if row.signal != signal.SIGKILL or not row.can_yield or job in self._lost:
            return False
        if said is None or said.turn < row.restarts:
            if not self._was_silent(row):
                return False
        elif (said.turn, said.word) != (row.restarts, "ready") or self._was_let_go(job, said.turn):
            return False
        _LOG.warning("job %s is queued again: its gate was killed", job)
        self._saved[job] = row.restarts
        self._tasks.begin(self._save(job))
        return True

    def _was_silent(self, row: JobRow) -> bool:
        """Whether a job had a gate that was killed before it could say a word."""
        try:
            named = row.job_id in self._jobs() or find(row.comment or "") is not None
        except CommentError:
            named = False
        ran = (row.ended_at or 0) - (row.started_at or 0)
        return named and row.restarts < _MOST_SILENT and ran <= _SILENT

    async def _save(self, job: str) -> None:
        try:
            await until_it_answers(lambda: self._slurm.requeue(job))
        except ManagerError as error:
            _LOG.error("job %s cannot be queued again: %s", job, error)
            self._lost.add(job)  # the next look shows that it has failed
            del self._saved[job]

    def offered(self) -> Mapping[str, Offer]:
        """See HookServer."""
        return dict(self._offers)

    def start(self, job_id: str, at: float | None = None, finding: Fields | None = None) -> bool:
        """See HookServer."""
        offer = self._offers.pop(job_id, None)
        if offer is None or self._is_dead(job_id):
            return False
        lines = [f"{name}={value}" for name, value in (finding or {}).items() if value.isprintable()]
        when = "0" if at is None else f"{at:.6f} {time.time():.6f}"
        try:
            self._answer(job_id, "\n".join([f"{offer.restarts} start {when}", *lines]))
        except OSError as error:
            _LOG.error("job %s waits on: its gate cannot be told: %s", job_id, reason_of(error, self._folder))
            self._offers[job_id] = offer
            return False
        return True

    def give_back(self, job_id: str) -> bool:
        """Have Slurm queue the job again, which ends its gate. False: no gate waits."""
        offer = self._offers.pop(job_id, None)
        if offer is not None:
            self._tasks.begin(self._queue_again(offer))
        return offer is not None

    def end(self, job_id: str) -> bool:
        """See HookServer: Slurm itself has ended the gate."""
        return self._offers.pop(job_id, None) is not None

    def keep_finding(self, jobs: Container[str]) -> None:
        """Remove the files of jobs that are over, a while after they were last written."""
        oldest = time.time() - 86400
        for path in self._folder.glob("[1-9]*.*"):
            with suppress(OSError):
                if path.stem not in jobs and path.stat().st_mtime < oldest:
                    path.unlink()

    async def _queue_again(self, offer: Offer) -> None:
        try:
            await until_it_answers(lambda: self._slurm.requeue(offer.job_id))
        except UnknownJobError:
            return
        except ManagerError as error:
            _LOG.error("job %s cannot be queued again: %s", offer.job_id, error)
            await asyncio.sleep(_AGAIN)
            self._offers[offer.job_id] = offer
            self._on_offer(offer)

    # What gates say

    async def _look(self) -> None:
        problem = ""
        while True:
            try:
                await self._hear_all()
                problem = ""
            except OSError as error:  # a full disk, a file server that is away
                if (reason := reason_of(error, self._folder)) != problem:
                    problem = reason
                    _LOG.error("gates wait: %s cannot be used: %s", self._folder, reason)
            await asyncio.sleep(_LOOK)

    async def _hear_all(self) -> None:
        for job in self._changed():
            await self._heard(job)
        for job, offer in list(self._offers.items()):
            if self._is_dead(job):
                self._lose(job)
            elif time.monotonic() > self._beats.get(job, 0) + _BEAT:
                self._park(job, offer.restarts)

    def _is_dead(self, job: str) -> bool:
        """Whether a gate that waited was killed: nobody has its file locked any more. Slurm says so a second later."""
        if (said := self._said.get(job)) is None or not said.locked:
            return False
        try:
            with (self._folder / f"{job}.told").open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:  # locked; or there are no locks here
            return False
        return self._note(job) == said

    def _lose(self, job: str) -> None:
        del self._offers[job]
        self._on_withdrawn(job)
        self._said[job] = said = replace(self._said[job], locked=False)
        self._tasks.begin(self._offer_again(job, said))

    async def _offer_again(self, job: str, said: _Said) -> None:
        """Offer a job whose gate waits after all: a network file system may lose locks."""
        await asyncio.sleep(_AGAIN)
        if self._said.get(job) is said:
            await self._ready(job, said)

    def _changed(self) -> list[str]:
        """Return the jobs whose gates have said more."""
        named = {match[1] for name in os.listdir(self._folder) if (match := _JOB.fullmatch(name))}
        changed = []
        for job in named.union(self._jobs()):
            with suppress(OSError), (self._folder / f"{job}.told").open("rb") as file:
                if (size := os.fstat(file.fileno()).st_size) != self._sizes.get(job):
                    self._sizes[job] = size
                    changed.append(job)
        return changed

    def _note(self, job: str) -> _Said | None:
        """Note the last whole line that a gate has written."""
        with suppress(OSError):
            *lines, _ = (self._folder / f"{job}.told").read_text(errors="replace").split("\n")
            if lines and (match := _TOLD.fullmatch(lines[-1])):
                turn, word, nodes, nodelist, locked = match.groups()
                self._said[job] = _Said(int(turn), word, int(nodes or 0), nodelist or "", locked is not None)
                return self._said[job]
        return None

    async def _heard(self, job: str) -> None:
        said = self._note(job)
        if said is None:
            return
        if said.word == "ready":
            await self._ready(job, said)
            return
        if self._offers.pop(job, None) is not None:  # without an answer of ours
            self._on_withdrawn(job)
        if said.word == "starting":
            self._on_starting(job, said.turn)

    async def _ready(self, job: str, said: _Said) -> None:
        """Offer a job, as squeue shows it: its comment may have changed since it was submitted."""
        try:
            row = next(iter(await until_it_answers(lambda: self._slurm.details([job]))), None)
        except ManagerError as error:
            _LOG.warning("the gate of job %s waits: %s", job, error)
            self._sizes.pop(job, None)
            return
        if row is None or row.restarts != said.turn or row.state != "CONFIGURING":
            return
        self._offers[job] = offer = Offer(
            job, said.nodes, said.nodelist, row.user, os.geteuid(), row.comment or "", row.name, said.turn,
            batch=True, array=None, het=row.het,
        )  # fmt: skip
        with suppress(OSError):  # the next beat tells it
            self._park(job, said.turn)
        self._on_offer(offer)

    def _park(self, job: str, turn: int) -> None:
        self._beats[job] = time.monotonic()
        self._answer(job, f"{turn} parked {time.time():.0f}")

    def _answer(self, job: str, text: str) -> None:
        """Overwrite the answer in its place, so that a gate that opens it reads one whole line or the other."""
        file = os.open(self._folder / f"{job}.answer", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            written = os.write(file, f"{text}\n".encode())
            os.ftruncate(file, written)
        finally:
            os.close(file)
