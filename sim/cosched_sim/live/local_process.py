"""A service as a child process with a folder of its own, for demonstrations and lock-step replays."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from cosched.client import Client, Unreachable
from cosched_sim.federation.live_player import ServiceDiedError

START_PATIENCE = 300.0  # seconds; the first start may compile the kernels
STOP_PATIENCE = 10.0

Table = Mapping[str, object]
BESIDE_IT = {"plaintext": True, "socket": "socket", "state": "state.db", "log_level": "warning"}  # keys of [domain]


class LocalProcess:
    """`cosched serve` with a configuration: tables by section, a list of tables for a repeated section."""

    def __init__(self, folder: Path, configuration: Mapping[str, Table | list[Table]]) -> None:
        self.folder = folder
        folder.mkdir()
        self._config = folder / "domain.toml"
        self._config.write_text(toml(configuration))
        self._log = folder / "log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def server(self) -> str:
        """The address for clients; the configuration must have the keys BESIDE_IT."""
        return f"unix:{self.folder / 'socket'}"

    def start(self) -> None:
        """Start the process; `wait` tells when it serves."""
        code, env = "from cosched.cli.main import main; main()", {**os.environ, "GRPC_VERBOSITY": "NONE"}
        command = [sys.executable, "-c", code, "serve", "--config", str(self._config)]
        with self._log.open("ab") as log:
            # In a session of its own: Ctrl-C is for this process, which ends the service in order.
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=env
            )

    def wait(self) -> Client:
        """Wait until the service serves and return a client; ServiceDiedError."""
        end = time.monotonic() + START_PATIENCE
        while time.monotonic() < end:
            self.check()
            with Client(self.server, timeout=2.0) as client, contextlib.suppress(Unreachable):
                client.domain()
                return Client(self.server)
            time.sleep(0.05)
        raise ServiceDiedError(f"{self.folder.name}: does not serve after {START_PATIENCE:.0f} s")

    def check(self) -> None:
        """Raise ServiceDiedError if the process has ended."""
        if self._process is not None and self._process.poll() is not None:
            lines = self._log.read_text(errors="replace").strip().splitlines() or ["it said nothing"]
            raise ServiceDiedError(f"{self.folder.name}: its service has ended: {lines[-1][:300]}")

    def stop(self) -> None:
        """End the process, by force if it takes long."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None


def free_ports(count: int) -> list[int]:
    """Return `count` ports of 127.0.0.1 that are free at the moment."""
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [int(probe.getsockname()[1]) for probe in probes]


def toml(sections: Mapping[str, Table | list[Table]]) -> str:
    """Format tables of strings, numbers and booleans as TOML."""
    return "\n".join(line for name, section in sections.items() for line in _section(name, section)) + "\n"


def _section(name: str, section: Table | list[Table]) -> Iterable[str]:
    for table in section if isinstance(section, list) else [section]:
        yield f"[[{name}]]" if isinstance(section, list) else f"[{name}]"
        yield from (f"{key} = {json.dumps(value)}" for key, value in table.items())
