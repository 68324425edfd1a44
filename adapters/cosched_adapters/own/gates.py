"""The gates of a user's own jobs, in the place of hooks: they report ready jobs, and get answers (gate_script).

A gate is found again whatever becomes of the service: what it has said stands in its file.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import re
import socket
import time
from collections.abc import Callable, Collection, Container
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from cosched.words.file_errors import reason_of
from cosched_adapters.hook_lines import Fields
from cosched_adapters.manager import ManagerError, UnknownJobError
from cosched_adapters.own.gate_relay import GateRelay
from cosched_adapters.own.settings import GateSettings
from cosched_adapters.programs import until_it_answers
from cosched_adapters.tasks import OwnTasks

LEAD = 0.5  # seconds for an answer to reach a gate
_LOOK = 0.1  # seconds between two looks at the gates' files
_BEAT = 10.0  # seconds after which a gate that waits is told so again
_UNGATED = 150.0  # seconds after which a job that runs, and has said nothing, has no gate
_AGAIN = 5.0  # seconds until a job is offered again that could not be queued again
_TOLD = re.compile(
    r"([0-9]{1,9}) (ready|starting soon|starting|started|gone)(?: nodes=([0-9]{1,9}) nodelist=(\S{1,4096})( locked)?)?"
)
_STARTING = {"starting soon": False, "starting": True, "started": True}  # and whether the script may have begun
_JOB = re.compile(r"([0-9]{1,12})\.told")
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Said:
    """What a gate has said last, in its job's latest turn."""

    turn: int
    word: str
    nodes: int = 0
    nodelist: str = ""
    locked: bool = False  # its file is locked as long as it lives
    begun: bool = False  # its job's script may have begun


class GateOffer(Protocol):
    """A job that waits in its gate."""

    @property
    def job_id(self) -> str:
        """Its id."""

    @property
    def restarts(self) -> int:
        """Its turn."""


Offer = TypeVar("Offer", bound=GateOffer)
_Offered = TypeVar("_Offered", bound=GateOffer, covariant=True)


class GatedSystem(Protocol[_Offered]):
    """The batch system, as its user sees it. Calls raise ManagerError."""

    async def offer_of(self, job_id: str, said: Said) -> _Offered | None:
        """Return the offer of a job whose gate is ready, as the batch system shows it; None: it has ended its turn."""

    async def requeue(self, job_id: str) -> None:
        """Queue a job in its gate again."""


class Gates(Generic[Offer]):
    """What takes the place of a hook server; the settings' folder `gates` is shared with the compute nodes."""

    def __init__(
        self,
        settings: GateSettings,
        system: GatedSystem[Offer],
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
        self._system = system
        self._on_offer, self._on_withdrawn, self._on_starting = on_offer, on_withdrawn, on_starting
        self._jobs = jobs
        self._said: dict[str, Said] = {}
        self._sizes: dict[str, int] = {}
        self._offers: dict[str, Offer] = {}
        self._beats: dict[str, float] = {}
        self._relay: GateRelay | None = None
        self._tasks = OwnTasks(_LOG, logging.DEBUG)

    def load(self) -> None:
        """Read what all gates have said; ManagerError: the folder cannot be used."""
        settings = self._settings
        at = f"{socket.gethostname()}:{self._port}" if self._port else ""  # for gates that do not see the folder
        patience = f"{settings.gate_patience:.0f} {settings.without_service} {settings.hold_time:.0f} {at}\n"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self._folder / "patience").write_text(patience)
        except OSError as error:
            raise ManagerError(f"{self._folder} cannot be used: {reason_of(error, self._folder)}") from error
        for job in self._changed():
            said = self._note(job)
            if said is not None and said.word == "ready" and self.let_go_at(job, said.turn) is not None:
                self._said[job] = Said(said.turn, "starting", begun=True)  # it will read that, if it has not
            else:
                del self._sizes[job]  # it is heard again

    def let_go_at(self, job: str, turn: int) -> float | None:
        """Return the instant at which a job was told to start in this turn, 0 for at once; None: it was not."""
        try:
            told, word, at, *_ = (self._folder / f"{job}.answer").read_text().split(maxsplit=3)
        except (OSError, ValueError):
            return None
        return float(at) if (told, word) == (str(turn), "start") else None

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

    def said(self, job_id: str, turn: int) -> Said | None:
        """Return what a job's gate has said last in this turn, or in a later one."""
        said = self._said.get(job_id)
        return None if said is None or said.turn < turn else said

    def keep(self, job_id: str, turn: int, began: int | None) -> bool:
        """Whether a job that runs, as it is shown, is kept at its gate; it `began` at this instant; None: just now."""
        if (said := self.said(job_id, turn)) is None:
            return began is None or time.time() - began < _UNGATED
        return said.word == "ready"

    def start(self, job_id: str, at: float | None = None, finding: Fields | None = None) -> bool:
        """Let a job start, at an instant if given, with these variables. False: no gate waits."""
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
        """Have the job queued again, which ends its gate. False: no gate waits."""
        offer = self._offers.pop(job_id, None)
        if offer is not None:
            self._tasks.begin(self._queue_again(offer))
        return offer is not None

    def end(self, job_id: str) -> bool:
        """Note that the batch system itself has ended a gate. False: none waited."""
        return self._offers.pop(job_id, None) is not None

    def keep_finding(self, jobs: Container[str]) -> None:
        """Remove the files of jobs that are over, a while after they were last written."""
        oldest = time.time() - 86400
        for path in self._folder.glob("[0-9]*.*"):
            with suppress(OSError):
                if path.stem not in jobs and path.stat().st_mtime < oldest:
                    path.unlink()

    async def _queue_again(self, offer: Offer) -> None:
        try:
            await until_it_answers(lambda: self._system.requeue(offer.job_id))
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
        """Return whether a gate that waited was killed: nobody has its file locked any more. That is shown later."""
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

    async def _offer_again(self, job: str, said: Said) -> None:
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

    def _note(self, job: str) -> Said | None:
        """Note the last whole line that a gate has written."""
        if (said := self.read(job)) is not None:
            self._said[job] = said
        return said

    def read(self, job: str) -> Said | None:
        """Return the last whole line that a gate has written."""
        with suppress(OSError):
            *lines, _ = (self._folder / f"{job}.told").read_text(errors="replace").split("\n")
            if lines and (match := _TOLD.fullmatch(lines[-1])):
                turn, word, nodes, nodelist, locked = match.groups()
                if word in _STARTING:
                    return Said(int(turn), "starting", begun=_STARTING[word])
                return Said(int(turn), word, int(nodes or 0), nodelist or "", locked is not None)
        return None

    async def _heard(self, job: str) -> None:
        before, said = self._said.get(job), self._note(job)
        if said is None:
            return
        if said.word == "ready":
            await self._ready(job, said)
            return
        if self._offers.pop(job, None) is not None:  # without an answer of ours
            self._on_withdrawn(job)
        if said.word == "starting" and before != replace(said, begun=False):  # else that was heard before it began
            self._on_starting(job, said.turn)

    async def _ready(self, job: str, said: Said) -> None:
        """Offer a job, as it is shown: its mate may have changed since it was submitted."""
        try:
            offer = await until_it_answers(lambda: self._system.offer_of(job, said))
        except ManagerError as error:
            _LOG.warning("the gate of job %s waits: %s", job, error)
            self._sizes.pop(job, None)
            return
        if offer is None:
            return
        self._offers[job] = offer
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
