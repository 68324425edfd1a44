"""The cosched service of one cluster of a laboratory: `cosched serve`, its configuration, and commands to it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from deploy.lab.keeping import Keeping
from deploy.lab.running import Done, output, run
from deploy.lab.waiting import PATIENCE, LabError, tails, wait_for

_ROOT = Path(__file__).resolve().parents[2]
_START_PATIENCE = 300.0  # seconds: the first start on a host may compile the kernels
_INTERVAL = 0.2  # seconds between two looks at clocks
_TERMINATED = -signal.SIGTERM

Sections = Mapping[str, Mapping[str, object] | list[dict[str, object]]]


def cosched() -> str:
    """Return the path of the command: beside this Python, else in the project's environment, else in PATH. LabError."""
    beside = Path(sys.executable).with_name("cosched"), _ROOT / ".venv" / "bin" / "cosched"
    found = next((str(path) for path in beside if os.access(path, os.X_OK)), None) or shutil.which("cosched")
    if found is None:
        raise LabError("cosched is not installed here (make setup)")
    return found


class Service:
    """`cosched serve` in `folder`, for users of `environment`; it ends with the laboratory."""

    def __init__(self, folder: Path, environment: Mapping[str, str], keeping: Keeping) -> None:
        self.folder = folder
        self.socket = folder / "cosched.sock"
        self.state = folder / "cosched.db"
        self.log = folder / "cosched.log"
        self._configuration = folder / "cosched.toml"
        self._keeping = keeping
        self._environment = {**environment, "COSCHED_SERVER": self.server, "GRPC_VERBOSITY": "NONE"}
        self._pid: int | None = None

    @property
    def server(self) -> str:
        """The server for clients: the value of COSCHED_SERVER and `--server`."""
        return f"unix:{self.socket}"

    @property
    def environment(self) -> dict[str, str]:
        """The environment for users' commands."""
        return dict(self._environment)

    @property
    def pid(self) -> int:
        """The process id; LabError if there is no process."""
        if self._pid is None:
            raise LabError(f"{self.folder.name}: the service has not been started")
        return self._pid

    @property
    def configuration(self) -> str:
        """The configuration, which is used from the next start on."""
        return self._configuration.read_text()

    def domain(self, name: str, listen: str) -> dict[str, object]:
        """Return the section [domain] of its configuration."""
        places = {"socket": str(self.socket), "state": str(self.state)}
        return {"name": name, "listen": listen, "plaintext": True, **places}

    def configure(self, sections: Sections) -> None:
        """Write the configuration for the next start."""
        self._configuration.write_text(_toml(sections))

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Start it; at the end of the block it serves. LabError with the end of its log."""
        path = self.folder / "ready.sock"
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
            ready.bind(str(path))
            ready.setblocking(False)
            argv = [cosched(), "serve", "--config", str(self._configuration)]
            self._pid = self._keeping.spawn(argv, self._environment | {"NOTIFY_SOCKET": str(path)}, self.log)
            yield
            wait_for(lambda: self._says_ready(ready), f"{self.folder.name}: cosched to serve", _START_PATIENCE)
        path.unlink()

    def _says_ready(self, ready: socket.socket) -> bool:
        self.check()
        try:
            return b"READY=1" in ready.recv(4096)
        except BlockingIOError:
            return False

    def start(self) -> None:
        """Start it and wait until it serves. LabError with the end of its log."""
        with self.starting():
            pass

    def kill(self, number: int = signal.SIGKILL) -> int:
        """Send it a signal and wait for its end; return its status, or the negative number of the signal."""
        self._keeping.end(self.pid, number)
        code = self._keeping.exit_code(self.pid)
        self._pid = None
        return -number if code is None else code

    def stop(self) -> None:
        """Stop it properly; jobs that hold keep waiting. LabError if it ends in another way."""
        if self._pid is not None and (code := self.kill(signal.SIGTERM)) not in (0, _TERMINATED):
            raise LabError(f"{self.folder.name}: cosched ended with status {code}{tails([self.log])}")

    def check(self) -> None:
        """Raise LabError if it should run and has ended."""
        if self._pid is not None and (code := self._keeping.exit_code(self._pid)) is not None:
            raise LabError(f"{self.folder.name}: cosched ended with status {code}{tails([self.log])}")

    # Commands

    def run(self, *arguments: str, seconds: float = PATIENCE) -> str:
        """Run a command `cosched ...`; return its output. LabError if it fails."""
        return output(self.try_run(*arguments, seconds=seconds), f"cosched {' '.join(arguments)}")

    def try_run(self, *arguments: str, seconds: float = PATIENCE) -> Done:
        """Run a command that may fail; LabError if it does not end."""
        what = f"cosched {' '.join(arguments)}"
        return run([cosched(), *arguments], what, seconds, [self.log], env=self._environment)

    def ask(self, *arguments: str) -> Any:
        """Run a command with --json; return its parsed output."""
        return json.loads(self.run(*arguments, "--json"))


def start_together(services: Sequence[Service]) -> None:
    """Start services that are each other's peers; LabError.

    Wait until they have compared their clocks: before that, mates agree on no instant.
    """
    with ExitStack() as starting:
        for service in services:
            starting.enter_context(service.starting())

    def compared() -> bool:
        peers = (peer for service in services for peer in service.ask("domains")["peers"])
        return all(peer["clock_offset"] is not None for peer in peers)

    wait_for(compared, "the services to compare their clocks", logs=[each.log for each in services], interval=_INTERVAL)


def _toml(sections: Sections) -> str:
    """Format tables of texts, numbers and booleans as TOML; a list holds tables of one name."""
    return "\n".join(line for name, section in sections.items() for line in _section(name, section)) + "\n"


def _section(name: str, section: Mapping[str, object] | list[dict[str, object]]) -> Iterator[str]:
    for table in section if isinstance(section, list) else [section]:
        yield f"[[{name}]]" if isinstance(section, list) else f"[{name}]"
        yield from (f"{key} = {json.dumps(value)}" for key, value in table.items())
