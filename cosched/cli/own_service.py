"""A user's own service on a login node: its folder, its configuration, and how it is started, found and ended.

The folder (`own_folder`) has `service.toml`, `service.log`, the database, the socket NAME.sock, and `peers` with two
sockets for each peer. It is the user's alone.
"""

from __future__ import annotations

import fcntl
import getpass
import json
import os
import shlex
import signal
import socket
import struct
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from cosched.cli.output.failures import FAILED, Failure
from cosched.cli.output.terminal import say
from cosched.cli.own_unit import SCRIPT, unit_command
from cosched.sockets.domain_sockets import own_folder
from cosched.words.errors import InputError
from cosched.words.file_errors import reason_of

STARTS = 120.0  # seconds that a service may take until it serves
ENDS = 30.0
_LOOK = 0.05
_TAIL = 1 << 20  # bytes of a log
COMMAND = "from cosched.cli.main import main; main()"
_CREDENTIALS = struct.Struct("iii")  # process, user, group: struct ucred


class OwnService:
    """The service of the calling user."""

    def __init__(self, folder: Path | None = None) -> None:
        """`folder`: that of its files; None: as the environment says."""
        self.folder = (folder or own_folder(os.environ)).absolute()
        self.config = self.folder / "service.toml"
        self._where = self.folder / "host"
        self._restart = self.folder / "restart"
        self._ended = self.folder / "ended"

    @property
    def exists(self) -> bool:
        """Whether it was ever set up."""
        return self.config.exists()

    def settings(self) -> dict[str, Any]:
        """Return what its configuration says; InputError."""
        try:
            return tomllib.loads(self.config.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            reason = reason_of(error, self.config) if isinstance(error, OSError) else str(error)
            raise InputError(str(self.config), None, f"cannot be read: {reason}") from None

    @property
    def is_ended(self) -> bool:
        """Whether its user has ended it: then only its user starts it again."""
        return self._ended.exists()

    @property
    def name(self) -> str:
        """Its domain's name; InputError."""
        name = self.settings().get("domain", {}).get("name")
        if not isinstance(name, str):
            raise InputError(str(self.config), "domain.name", "is missing")
        return name

    def logins(self) -> dict[str, str]:
        """Return by which logins it reaches its peers, those that reach it by one left empty; InputError."""
        peers = self.settings().get("peer", [])
        return {peer["name"]: peer.get("ssh", "") for peer in peers if "socket" in peer and "name" in peer}

    @property
    def socket(self) -> Path:
        """Where it listens; InputError."""
        return self.folder / f"{self.name}.sock"

    def process(self) -> int | None:
        """Return the process that listens at its socket; None: it does not run on this host."""
        with socket.socket(socket.AF_UNIX) as knocking:
            knocking.settimeout(5)
            try:
                knocking.connect(os.fspath(self.socket))
            except OSError:
                return None
            size = _CREDENTIALS.size
            process, _, _ = _CREDENTIALS.unpack(knocking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
            return int(process)

    def make(self, domain: Mapping[str, Any], coscheduling: Mapping[str, Any], manager: Mapping[str, Any]) -> None:
        """Make its folder and its configuration; InputError."""
        with self._usable():
            for folder in (self.folder, self.folder / "peers"):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                folder.chmod(0o700)
            lines = ["# Made by cosched up. Change it as you like, then: cosched down && cosched up"]
            own = {**domain, "socket": f"{domain['name']}.sock", "state": "state.db", "idle_end": "1h"}
            for section, keys in {"domain": own, "coscheduling": coscheduling, "manager": manager}.items():
                lines += ["", f"[{section}]", *(f"{key} = {json.dumps(value)}" for key, value in keys.items())]
            self.config.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def add_peer(self, name: str, their_user: str, login: str | None = None) -> bool:
        """Add a peer whose user is this one; False: it is there already."""
        if any(peer.get("name") == name for peer in self.settings().get("peer", [])):
            return False
        keys = {"name": name, "address": f"unix:peers/{name}.out", "socket": f"peers/{name}.in"}
        lines = [f"{key} = {json.dumps(value)}" for key, value in (keys | ({"ssh": login} if login else {})).items()]
        lines += [f"owners = {{ {json.dumps(their_user)} = {json.dumps(getpass.getuser())} }}"]
        with self._usable(), self.config.open("a", encoding="utf-8") as file:
            file.write("\n".join(["", "[[peer]]", *lines, 'other_owners = "nobody"', ""]))
        return True

    def start(self, *, here: bool = False) -> bool:
        """Start it, unless it runs; return whether it was started. Failure: one line of its log says why not.

        `here`: it has ended for certain on the host where it ran last.
        """
        with self._usable(), (self.folder / "lock").open("w") as file:
            fcntl.lockf(file, fcntl.LOCK_EX)  # two commands at once start one service; also over NFS
            if self.process() is not None:
                return False
            host = socket.gethostname()
            last = self._where.read_text().strip() if self._where.exists() else host
            if last != host and not here:
                said = f"your service runs on {last}: use it there, or end it there by cosched down"
                raise Failure(f"{said}; if {last} is gone for good: cosched up --here", FAILED)
            self._ended.unlink(missing_ok=True)
            killed = last == host and _was_killed(self.folder / "service.log")
            self._start()
            self._where.write_text(f"{host}\n")
            self._write_restart(host)
        if killed:
            say(f"your service on {host} was killed, and runs again: if {host} forbids processes that stay, ask there")
        return True

    def _write_restart(self, host: str) -> None:
        """Write the script by which gates that wait start this service again."""
        from cosched.sockets.ssh import login_command  # most commands start no service

        state = f"COSCHED_STATE={shlex.quote(str(self.folder))}"
        command = login_command(host, f"{state} {shlex.join([sys.executable, '-c', COMMAND, 'up'])}")
        self._restart.write_text(f"#!/bin/sh\nexec {shlex.join(command)}\n")

    def _start(self) -> None:
        log, ended = self.folder / "service.log", False
        service = [sys.executable, "-c", COMMAND, "serve", "--config", str(self.config)]
        with log.open("ab") as output:
            before = output.tell()
            process = subprocess.Popen(
                unit_command(self.folder, service, log) or service,
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=self.folder, start_new_session=True,
            )  # fmt: skip
        over = time.monotonic() + STARTS
        while f"serving {self.name} on " not in (said := _since(log, before)):
            if ended:
                last = (said.strip().splitlines() or [f"exit {process.returncode}"])[-1]
                raise Failure(f"your service does not start: {last.removeprefix('cosched: ')}", FAILED)
            if time.monotonic() > over:
                raise Failure(f"your service does not serve yet: see {log}", FAILED)
            ended = process.poll() is not None  # it has said all, then
            time.sleep(_LOOK)

    def end(self) -> bool:
        """End it, and wait until it has ended; False: it did not run. Its jobs go on."""
        process = self.process()
        self._ended.touch(mode=0o600)
        if process is not None:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)
            over = time.monotonic() + ENDS
            while lives(process):
                if time.monotonic() > over:
                    raise Failure(f"process {process} does not end: see {self.folder / 'service.log'}", FAILED)
                time.sleep(_LOOK)
        for file in (self._where, self._restart, self.folder / SCRIPT):
            file.unlink(missing_ok=True)
        return process is not None

    def bring_up(self) -> None:
        """Start it again if it was set up, and ended by itself or with its host; see `start`."""
        if self.exists and self.process() is None:
            self.start()

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            where = error.filename or self.folder
            raise InputError(str(where), None, f"cannot be used: {reason_of(error, where)}") from None


def _was_killed(log: Path) -> bool:
    """Return whether the service that wrote this log last did not stop by itself, nor with its host."""
    if not log.exists() or log.stat().st_mtime < time.time() - time.clock_gettime(time.CLOCK_BOOTTIME):
        return False
    said = _since(log, max(0, log.stat().st_size - _TAIL))
    return said.rfind('"stopping"') < said.rfind("serving ")


def _since(log: Path, before: int) -> str:
    with log.open("rb") as file:
        file.seek(before)
        return file.read().decode(errors="replace")


def lives(process: int) -> bool:
    """Return whether a process has not ended; one that has, and that nobody has waited for, does not count."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state != "Z"
