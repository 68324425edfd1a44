"""The server for Slurm's hooks: they report ready jobs, and get answers (see hook_protocol)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Container
from pathlib import Path

from cosched.sockets.accepting import user_of
from cosched_adapters.hook_lines import MAX_LINE, Fields, LineError, decode, encode
from cosched_adapters.hook_socket import HookSocket, Over
from cosched_adapters.slurm.hook_protocol import HookEnd, Offer, end_from, instant, job_id_from, offer_from, turn_from

__all__ = ["HookEnd", "HookServer", "Offer"]

_FIRST_LINE = 2.0  # seconds within which a connection must send its first line
_EVERYBODY = 0o666  # mode of the socket: jobs ask at their gates, and the kernel says as whom
_ROOT = 0


class HookServer:
    """Serves the hooks on the Unix socket `path`, in an existing folder. Callbacks come from the event loop.

    Only `slurm_user` (user id) and root may offer jobs and report their ends. `on_offer` gets each job whose hook waits
    now, even if it waited before the service or slurmctld was restarted. `on_withdrawn` gets a job whose hook has gone
    before it got an answer. `on_starting` gets a job whose hook lets it start now, and how often it was requeued;
    `on_killed` gets an offer whose hook was killed before that. Both happen with and without an answer of ours.
    `gate_lead` is for sites with the task-prolog gate: a job starts so many seconds before an agreed instant, and waits
    at its gate for the rest.
    """

    def __init__(
        self,
        path: Path,
        *,
        slurm_user: int,
        on_offer: Callable[[Offer], None],
        on_withdrawn: Callable[[str], None],
        on_killed: Callable[[Offer], None],
        on_starting: Callable[[str, int], None],
        on_ended: Callable[[HookEnd], None],
        gate_lead: float = 0.0,
    ) -> None:
        self._trusted = {_ROOT, slurm_user}
        self._socket = HookSocket(path, self._trusted, _EVERYBODY, lambda over: _Connection(self, over))
        self._on_offer, self._on_withdrawn, self._on_killed = on_offer, on_withdrawn, on_killed
        self._on_starting, self._on_ended, self._gate_lead = on_starting, on_ended, gate_lead
        self._connections: set[_Connection] = set()
        self._waiting: dict[str, _Connection] = {}
        self._offers: dict[str, Offer] = {}
        self._gates: dict[str, tuple[float, int]] = {}  # instant and user of jobs that wait at their gates
        self._finding: dict[str, tuple[Fields, int]] = {}  # variables for the tasks of jobs, and the jobs' users

    async def open(self) -> None:
        """Start listening. OSError: the folder cannot be used, or another process serves this socket."""
        await self._socket.open()

    async def close(self) -> None:
        """Stop listening and leave the hooks waiting: they connect to the next server of this socket."""
        self._waiting.clear()
        self._offers.clear()
        for connection in self._connections:
            connection.close()  # its hook lives on
        await self._socket.close()

    def start(self, job_id: str, at: float | None = None, finding: Fields | None = None) -> bool:
        """Let the job start, at instant `at` if given (seconds since 1970, at most 10 s ahead). False: no hook waits.

        `finding`: variables that its tasks get at the gate.

        This does not say that the job has started: the hook may be killed before it can act. Then the job's end is
        reported, or the job is offered again.
        """
        if job_id not in self._waiting:
            return False
        fields: Fields = {}
        if finding:
            self._finding[job_id] = finding, self._offers[job_id].uid
        if at is not None:
            fields = instant(at - self._gate_lead)
            self._set_gate(job_id, at)
        return self._tell(job_id, "start", fields)

    def give_back(self, job_id: str) -> bool:
        """Make the job yield: Slurm requeues a batch job and cancels any other. False: no hook waits."""
        return self._tell(job_id, "yield")

    def end(self, job_id: str) -> bool:
        """End the hook of a job that Slurm has requeued, so that Slurm can call a new one. False: no hook waits."""
        return self._tell(job_id, "yield")

    def keep_finding(self, jobs: Container[str]) -> None:
        """Keep the variables of these jobs only."""
        self._finding = {job: known for job, known in self._finding.items() if job in jobs}

    def _set_gate(self, job_id: str, at: float) -> None:
        now = time.time()
        self._gates = {job: gate for job, gate in self._gates.items() if gate[0] > now}
        self._gates[job_id] = (at, self._offers[job_id].uid)

    def _tell(self, job_id: str, verb: str, fields: Fields | None = None) -> bool:
        connection = self._waiting.get(job_id)
        if connection is None or not connection.send(verb, fields) or connection.has_gone:
            return False  # `gone` reports a hook that has hung up
        del self._waiting[job_id], self._offers[job_id]
        if verb != "start" or not connection.expects_farewell:
            connection.close()
        return True

    # Calls of connections

    def made(self, connection: _Connection) -> None:
        """Note a new connection."""
        self._connections.add(connection)

    def told(self, connection: _Connection, verb: str, fields: Fields) -> None:
        """Act on a connection's line. LineError."""
        if verb == "gate":
            self._gate(connection, fields)
        elif connection.uid not in self._trusted:
            raise LineError(f"user {connection.uid} is neither SlurmUser nor root")
        elif verb == "ready":
            self._ready(connection, offer_from(fields))
        elif verb == "starting":
            self._on_starting(*turn_from(fields))
        elif verb == "ended":
            self._on_ended(end_from(fields))
        else:
            raise LineError("unknown verb")

    def _ready(self, connection: _Connection, offer: Offer) -> None:
        connection.send("parked")
        if connection.has_gone:  # we were slow, and the hook has given up: it will connect again
            return
        if offer.job_id in self._waiting:  # only a job's newest hook counts for Slurm; the other one is stale
            self.end(offer.job_id)
            self._on_withdrawn(offer.job_id)
        connection.offer = offer
        self._waiting[offer.job_id] = connection
        self._offers[offer.job_id] = offer
        self._on_offer(offer)

    def _gate(self, connection: _Connection, fields: Fields) -> None:
        job = job_id_from(fields)
        at, uid = self._gates.get(job, (0.0, connection.uid))
        finding, owner = self._finding.get(job, ({}, connection.uid))
        if {uid, owner} != {connection.uid} and connection.uid not in self._trusted:
            raise LineError(f"user {connection.uid} has no such job")
        told = instant(at) if at > time.time() else {}
        connection.send("open", {**told, **(finding if fields.get("finding") == "1" else {})})

    def gone(self, connection: _Connection) -> None:
        """Note that a connection has ended."""
        self._connections.discard(connection)
        offer = connection.offer
        if offer is not None and self._waiting.get(offer.job_id) is connection:
            del self._waiting[offer.job_id], self._offers[offer.job_id]
            self._on_withdrawn(offer.job_id)
        if offer is not None and connection.expects_farewell:
            self._on_killed(offer)

    def refused(self, uid: int, reason: str) -> None:
        """Log why a user's connection is closed."""
        self._socket.complain(uid, reason)


class _Connection(asyncio.Protocol):
    """One hook. It sends one line; after `ready` it may send `waiting` any number of times, and `starting` last."""

    def __init__(self, server: HookServer, over: Over) -> None:
        self.uid = -1
        self.offer: Offer | None = None  # the offer of this hook
        self._dismissed = False  # it may hang up: it has sent its last line, or we have hung up
        self._server, self._over = server, over
        self._transport: asyncio.Transport
        self._unread = b""
        self._impatience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.uid = user_of(transport.get_extra_info("socket"))
        self._server.made(self)
        self._impatience = asyncio.get_running_loop().call_later(_FIRST_LINE, self._refuse, "no line")

    def data_received(self, data: bytes) -> None:
        *lines, self._unread = (self._unread + data).split(b"\n")
        try:
            for line in lines:
                self._take(line)
            if len(self._unread) > MAX_LINE:
                raise LineError("a line that is too long")
        except LineError as error:
            self._refuse(str(error))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._be_patient()
        self._server.gone(self)
        self._over()

    @property
    def has_gone(self) -> bool:
        """Whether the hook had hung up when its last line arrived."""
        return self._transport.is_closing()

    @property
    def expects_farewell(self) -> bool:
        """Whether the hook was killed if it hangs up now."""
        return self.offer is not None and self.offer.farewell and not self._dismissed

    def _take(self, line: bytes) -> None:
        if len(line) > MAX_LINE:
            raise LineError("a line that is too long")
        verb, fields = decode(line)
        if self.offer is not None and verb == "waiting":
            self.send("parked")
        elif self.offer is not None and verb == "starting":
            self._dismissed = True
            self._server.told(self, verb, fields)
        elif self._impatience is None:
            raise LineError("more than one line")
        else:
            self._be_patient()
            self._server.told(self, verb, fields)
            if self.offer is None:
                self.close()

    def send(self, verb: str, fields: Fields | None = None) -> bool:
        """Send a line; False if the hook has gone."""
        if self._transport.is_closing():
            return False
        self._transport.write(encode(verb, fields))
        return True

    def close(self) -> None:
        """Hang up when all is sent."""
        self._dismissed = True
        self._transport.close()

    def _refuse(self, reason: str) -> None:
        self._dismissed = True
        self._server.refused(self.uid, reason)
        self._transport.abort()

    def _be_patient(self) -> None:
        if self._impatience is not None:
            self._impatience.cancel()
            self._impatience = None
