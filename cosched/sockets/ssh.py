"""A stream to a user's own service on another host, by the user's own ssh: one command, nothing forwarded.

COSCHED_SSH replaces the command `ssh`, as `ssh -F FILE`; keys, agents, jumps and ports are those of its configuration.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from cosched.host.programs import started
from cosched.sockets.hello import HelloError, read_hello, written

GREETING = 60.0  # seconds for logging in, and for starting the service there
_OPTIONS = ("BatchMode=yes", "ConnectTimeout=15", "ServerAliveInterval=5", "ServerAliveCountMax=2", "ForwardX11=no")
_THERE = 'PATH="$HOME/.local/bin:$PATH"'  # where pip install --user puts commands
_SHOWN = 300  # characters of what ssh says
_ENDING = 5.0  # seconds that ssh has for its end


def ssh_command(login: str, *command: str) -> list[str]:
    """Return the command that runs `cosched COMMAND` as this login, and never asks for a password."""
    return login_command(login, f"{_THERE} cosched {shlex.join(command)}")


def login_command(login: str, text: str) -> list[str]:
    """Return the command that lets the shell of this login run a text."""
    options = [word for option in _OPTIONS for word in ("-o", option)]
    ssh = shlex.split(os.environ.get("COSCHED_SSH") or "ssh")
    return [*ssh, "-T", *options, "--", login, text]


def explained(said: str, login: str) -> str:
    """Return the last words of ssh, or of the program there, with what to do."""
    if "not found" in said:
        return f"{said}: install cosched there (pip install --user coscheduling)"
    if "peer-stream" in said or "--this-end" in said:
        return f"{said}: update cosched there"
    if "Permission denied" in said:
        return f"{said}: set up a key without a prompt, so that ssh -o BatchMode=yes {login} true works"
    return said


class SshStream:
    """One connection; `reader` and `writer` are its stream, `there` is the other end's greeting."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    there: Mapping[str, Any]

    def __init__(self, login: str) -> None:
        self._login = login
        self._said: list[str] = []

    async def open(self, greeting: Mapping[str, Any]) -> None:
        """Log in and greet; HelloError, with what ssh says."""
        command, pipe = ssh_command(self._login, "peer-stream"), asyncio.subprocess.PIPE
        try:
            self._process = await started(*command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True)
        except OSError as error:
            raise HelloError(f"ssh cannot be run: {error.strerror}") from None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.reader, self.writer = self._process.stdout, self._process.stdin
        self._listening = asyncio.create_task(self._listen())
        try:
            async with asyncio.timeout(GREETING):
                self.writer.write(written(greeting))
                self.there = await read_hello(self.reader)
        except (TimeoutError, HelloError, OSError) as error:
            why = "no answer within a minute" if isinstance(error, TimeoutError) else str(error)
            await self.close()
            raise HelloError(explained(self._said[-1], self._login) if self._said else why) from None
        except asyncio.CancelledError:
            await self.close()
            raise

    async def _listen(self) -> None:
        assert self._process.stderr is not None
        while line := await self._process.stderr.readline():
            text = line.decode(errors="replace").strip()[:_SHOWN]
            if text:
                self._said = [*self._said[-9:], "".join(c if c.isprintable() else "?" for c in text)]

    async def close(self) -> None:
        """End ssh, and with it the program there."""
        self.writer.close()
        for number in (signal.SIGTERM, signal.SIGKILL):  # a stopped ssh does not end by the first
            if self._process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(self._process.pid, number)  # with its proxies; it leads a session
            with suppress(TimeoutError):
                async with asyncio.timeout(_ENDING):
                    await self._ended()
                break
        with suppress(TimeoutError):
            async with asyncio.timeout(1.0):  # a master connection may keep this open
                await self._listening  # its last words

    async def _ended(self) -> None:
        """Wait for the end of ssh; it is not noticed before all that it has printed was read."""
        with suppress(OSError):
            while await self.reader.read(1 << 16):
                pass
        await self._process.wait()
