"""The gates: the queue's prolog asks whether its job may start, and waits for the answer, with the job's slots.

Lines as in `hook_lines`; a connection has one line, and one answer if it is a question.

    prolog   job run slots hosts      a job has its slots; `run` tells this run of the job from all others
    epilog   job                      a job has ended, or is about to

The answer to a prolog is `start`, at an instant `at` if given (seconds since 1970), with the
variables by which the job finds its mates; or `requeue`: the prolog ends with code 99, and Grid Engine queues the job
again. A prolog whose connection breaks asks again, with the same `run`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cosched.sockets.accepting import user_of
from cosched_adapters.hook_lines import LineError, decode, encode
from cosched_adapters.hook_socket import HookSocket, Over

_FIRST_LINE = 5.0  # seconds within which a prolog must ask
_ROOT = 0  # the prolog runs as root@
_ONLY_ROOT = 0o600  # mode of the socket: it is the service's own user's, and root may do all


@dataclass(eq=False)
class Gate:
    """A prolog that waits."""

    job_id: str
    run: str
    slots: int
    hosts: str
    answered: asyncio.Future[bytes]

    def start(self, at: float | None = None, finding: Mapping[str, str] | None = None) -> None:
        """Let the job start."""
        self._answer(encode("start", {**(finding or {}), **({} if at is None else {"at": f"{at:.6f}"})}))

    def requeue(self) -> None:
        """Let the job be queued again."""
        self._answer(encode("requeue"))

    @property
    def waits(self) -> bool:
        """Whether it has no answer, and its prolog is there."""
        return not self.answered.done()

    def _answer(self, line: bytes) -> None:
        if self.waits:
            self.answered.set_result(line)


class Gates:
    """Serves prologs on the Unix socket `path`; `asked` gets each gate, and `gone` those that went unanswered.

    `ended` gets each job whose epilog tells of its end.
    """

    def __init__(
        self,
        path: Path,
        asked: Callable[[Gate], object],
        gone: Callable[[Gate], None],
        ended: Callable[[str], None],
    ) -> None:
        self._asked = asked
        self._gone = gone
        self._ended = ended
        self._socket = HookSocket(path, {_ROOT}, _ONLY_ROOT, self._protocol)

    async def open(self) -> None:
        """Start listening. OSError: the folder cannot be used, or another process serves this socket."""
        self._socket.open()

    async def close(self) -> None:
        """Stop listening: prologs ask the next service."""
        await self._socket.close()

    def _protocol(self, over: Over) -> asyncio.Protocol:
        reader = asyncio.StreamReader()
        return asyncio.StreamReaderProtocol(reader, partial(self._serve, over))

    async def _serve(self, over: Over, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        uid = user_of(writer.get_extra_info("socket"))
        try:
            async with asyncio.timeout(_FIRST_LINE):
                line = await reader.readline()
            if line and (gate := self._read(uid, line.rstrip(b"\n"))) is not None:
                await self._wait(gate, reader)
                if not gate.answered.cancelled():
                    writer.write(gate.answered.result())
                    await writer.drain()
            writer.close()
            await writer.wait_closed()
        except (OSError, TimeoutError, ValueError, LineError) as error:
            self._socket.complain(uid, str(error) or "no line")
        finally:
            over()

    async def _wait(self, gate: Gate, reader: asyncio.StreamReader) -> None:
        """Wait for the answer, or for the prolog's end."""
        leaving = asyncio.create_task(reader.read(1))
        self._asked(gate)
        try:
            await asyncio.wait((leaving, gate.answered), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            if gate.waits:
                gate.answered.cancel()
                self._gone(gate)

    def _read(self, uid: int, line: bytes) -> Gate | None:
        """Return the gate that asks; None: an epilog has told something. LineError."""
        if uid != _ROOT:
            raise LineError(f"user {uid} is not root: the queue's prolog and epilog must begin with root@")
        verb, fields = decode(line)
        job, slots = fields.get("job", ""), fields.get("slots", "")
        if not job.isdecimal() or verb not in ("prolog", "epilog"):
            raise LineError("not a line of a prolog or epilog")
        if verb == "epilog":
            self._ended(job)
            return None
        answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        count = int(slots) if slots.isdecimal() else 1
        return Gate(job, fields.get("run", ""), count, fields.get("hosts", ""), answered)
