"""The server through one connection, which a helper process has: see one_connection.py."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from asyncio.subprocess import Process
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from cosched.host.programs import end
from cosched_adapters.manager import ManagerError, UnavailableError
from cosched_adapters.programs import Failure, Programs

_SCRIPT = Path(__file__).with_name("one_connection.py")
_KNOWN = re.compile(r"qrun -H |qmgr -c (set (server|node)|unset node|list server \w)|qstat (-x )?-f |pbsnodes ")
_LOG = logging.getLogger(__name__)


class NoConnectionError(ManagerError):
    """The helper cannot be had here: the commands themselves must do."""


class Connection:
    """`programs` starts the helper; a command has `timeout` seconds, counted from its turn."""

    def __init__(self, programs: Programs, timeout: float) -> None:
        self._programs, self._timeout = programs, timeout
        self._helper: Process | None = None
        self._turn = asyncio.Lock()
        self._number = 0
        self._broken = False

    def can(self, argv: Sequence[str]) -> bool:
        """Return whether the helper knows this command."""
        return _KNOWN.match(" ".join(argv)) is not None and not self._broken

    async def run(self, argv: Sequence[str], failure: Failure, fine: Collection[int] = (0,)) -> bytes:
        """As `Programs.run`. NoConnectionError."""
        async with self._turn:
            try:
                async with asyncio.timeout(self._timeout):
                    code, said = await self._ask(argv)
            except TimeoutError:
                await self.close()
                raise UnavailableError(f"{argv[0]}: no answer from PBS within {self._timeout:g} s") from None
        if code not in fine:
            raise failure(argv[0], code, said.encode())
        return said.encode()

    async def _ask(self, argv: Sequence[str]) -> tuple[int, str]:
        helper = await self._running()
        assert helper.stdin is not None
        assert helper.stdout is not None
        self._number += 1
        with suppress(OSError):  # its output, which is over, tells as much
            helper.stdin.write(json.dumps([self._number, list(argv)]).encode() + b"\n")
            await helper.stdin.drain()
        while line := await helper.stdout.readline():
            answer: list[Any] = json.loads(line)
            if answer[0] == self._number:  # others are for callers who have gone
                return answer[1], answer[2]
        await self.close()
        if self._number == 1:
            self._broken = True
            _LOG.warning("pbs_python gives no connection to the server: commands are started one by one")
            raise NoConnectionError("no connection")
        raise UnavailableError(f"{argv[0]}: the connection to PBS has ended")

    async def _running(self) -> Process:
        if self._helper is None:
            try:
                self._helper = await self._programs.talk(["pbs_python", str(_SCRIPT)])
            except ManagerError as error:
                self._broken = True
                _LOG.warning("commands are started one by one: %s", error)
                raise NoConnectionError(str(error)) from None
        return self._helper

    async def close(self) -> None:
        """End the helper."""
        helper, self._helper = self._helper, None
        if helper is not None:
            await end(helper)
