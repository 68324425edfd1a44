"""Runs a batch system's commands, with a deadline, a limit for their output, and an environment of our own making."""

from __future__ import annotations

import asyncio
import os
import shutil
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from cosched.host.programs import end, kill, started
from cosched.words.file_errors import reason_of
from cosched_adapters.manager import ManagerError, UnavailableError

_T = TypeVar("_T")
Failure = Callable[[str, int, bytes], ManagerError]  # what a command, its exit code and its error output mean
_MOST_PRINTED = 256 << 20  # bytes: a million jobs
_CHUNK = 1 << 16


class Programs:
    """The commands of the batch system `whose`, in the folder `bin` (None: in PATH).

    They get `environment`, PATH and nothing else of ours: variables of a user could change their output. They have
    `timeout` seconds.
    """

    def __init__(self, whose: str, bin: Path | None, timeout: float, environment: Mapping[str, str]) -> None:
        self._whose, self._bin, self._timeout = whose, bin, timeout
        self._environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", **environment}

    async def run(self, argv: Sequence[str], failure: Failure, fine: Collection[int] = (0,)) -> bytes:
        """Return what a command prints if its exit code is `fine`.

        Else raises what `failure` makes of it; UnavailableError after the timeout.
        """
        name = argv[0]
        process = await self._start(argv, stdin=DEVNULL, stderr=PIPE)
        try:
            async with asyncio.timeout(self._timeout):
                printed, said = await asyncio.gather(_read(process, process.stdout), _read(process, process.stderr))
                code = await process.wait()
        except TimeoutError:
            raise UnavailableError(f"{name}: no answer from {self._whose} within {self._timeout:g} s") from None
        finally:
            await end(process)
        if len(printed) > _MOST_PRINTED:
            raise ManagerError(f"{name} printed more than {_MOST_PRINTED} bytes")
        if code not in fine:
            raise failure(name, code, said)
        return printed

    async def talk(self, argv: Sequence[str]) -> Process:
        """Start a program that reads commands and prints answers; it shares our error output. `end` ends it."""
        return await self._start(argv, stdin=PIPE, stderr=None)

    async def _start(self, argv: Sequence[str], stdin: int, stderr: int | None) -> Process:
        program = shutil.which(argv[0], path=self._bin or self._environment["PATH"])
        if program is None:
            raise ManagerError(f"{argv[0]} is not found in {self._bin or 'PATH'}")
        try:
            return await started(
                program, *argv[1:], stdin=stdin, stdout=PIPE, stderr=stderr, cwd="/", env=self._environment,
                start_new_session=True,  # so that it can be killed with its children
                limit=_MOST_PRINTED,
            )  # fmt: skip
        except OSError as error:
            raise ManagerError(f"{argv[0]} cannot be run: {reason_of(error, program)}") from error


async def _read(process: Process, stream: asyncio.StreamReader | None) -> bytes:
    """Return the output. If it exceeds the limit, return a little more than the limit, and kill the process."""
    assert stream is not None
    parts: list[bytes] = []
    size = 0
    while part := await stream.read(_CHUNK):
        if size > _MOST_PRINTED:
            kill(process)
            continue
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def meaning(said: str, meanings: Mapping[type[ManagerError], Collection[str]]) -> type[ManagerError]:
    """Return the error that a failed command's message means, by what the message contains."""
    return next((kind for kind, words in meanings.items() if any(word in said for word in words)), ManagerError)


async def until_it_answers(call: Callable[[], Awaitable[_T]], pauses: Sequence[float] = (0.2, 0.5, 1, 2, 5)) -> _T:
    """Repeat a call while the batch system does not answer; return its result. The last pause is used on and on."""
    tries = 0
    while True:
        try:
            return await call()
        except UnavailableError:
            await asyncio.sleep(pauses[min(tries, len(pauses) - 1)])
            tries += 1
