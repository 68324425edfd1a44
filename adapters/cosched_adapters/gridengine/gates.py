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

from cosched_adapters.hook_lines import Fields, LineError, encode


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
    """Answers prologs; `asked` gets each gate, and `gone` those that went unanswered.

    `ended` gets each job whose epilog tells of its end.
    """

    def __init__(
        self, asked: Callable[[Gate], object], gone: Callable[[Gate], None], ended: Callable[[str], None]
    ) -> None:
        self._asked, self._gone, self._ended = asked, gone, ended

    async def answer(self, verb: str, fields: Fields, leaving: asyncio.StreamReader) -> bytes:
        """Return the answer to a line; empty: an epilog has told something, or the prolog has gone. LineError."""
        job, slots = fields.get("job", ""), fields.get("slots", "")
        if not job.isdecimal() or verb not in ("prolog", "epilog"):
            raise LineError("not a line of a prolog or epilog")
        if verb == "epilog":
            self._ended(job)
            return b""
        answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        count = int(slots) if slots.isdecimal() else 1
        await self._wait(Gate(job, fields.get("run", ""), count, fields.get("hosts", ""), answered), leaving)
        return b"" if answered.cancelled() else answered.result()

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
