"""Service processes for tests: started, killed, asked, and taken down with the jobs that they leave."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import cycle, permutations
from pathlib import Path
from typing import Any, Self

from cosched.client import Client, Job, Unreachable
from cosched.core.story import Why
from tests.live.forked import NOTHING, Forked, ran
from tests.waiting import PATIENCE, wait_until

COMMAND = (str(Path(sys.executable).with_name("cosched")),)
WITH_MATES = (Why.ASKED_BY_PEER, Why.MATE_COULD_START, Why.HOLDING_MATE_STARTED, Why.AT_SLOT, Why.ALL_BOOKED)


def _ports() -> Iterator[int]:
    """Ports for this process: other testers take others, and the kernel gives higher ones to whoever asks for any."""
    tester = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    first = 10_000 + 1000 * (tester % 22)
    return cycle(first + (os.getpid() + number) % 1000 for number in range(1000))


_PORTS = _ports()


def free_port() -> int:
    """A port of 127.0.0.1 that nobody has, nor is given before it is used."""
    for port in _PORTS:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("there is no end of ports")


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {_value(of)}" for key, of in value.items()) + "}"
    return json.dumps(value)


def toml(sections: Mapping[str, Any]) -> str:
    """Tables of plain values (and lists of tables) as TOML."""
    lines = []
    for name, section in sections.items():
        for table in section if isinstance(section, list) else [section]:
            lines.append(f"[[{name}]]" if isinstance(section, list) else f"[{name}]")
            lines += [f"{key} = {_value(value)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


class _Client(Client):
    """Its jobs run, and leave their output, in a folder of the test's, unless they say where.

    It is patient with a service that gets no CPU.
    """

    def __init__(self, server: str, folder: Path, **options: Any) -> None:
        super().__init__(server, **{"timeout": PATIENCE, **options})
        self._folder = folder

    def submit(self, *arguments: Any, **options: Any) -> Job:
        return super().submit(*arguments, **{"directory": self._folder, **options})


class Service:
    """One `cosched serve`, in a folder of its own, on a port that it keeps over restarts."""

    def __init__(self, folder: Path, name: str, port: int | None = None) -> None:
        self.folder, self.name, self.port = folder, name, port or free_port()
        folder.mkdir(parents=True, exist_ok=True)
        self.process: subprocess.Popen[bytes] | Forked | None = None
        self.environment: dict[str, str] = {}
        self.options: tuple[str, ...] = ()  # more of `cosched serve`
        self.wrapper: tuple[str, ...] = ()  # what is run, COMMAND say; else it is forked from what has loaded it all
        self._said_before = 0  # bytes in its log when it was started
        self.config: dict[str, Any] = {
            "domain": {
                "name": name,
                "listen": f"127.0.0.1:{self.port}",
                "plaintext": True,
                "socket": "sock",
                "state": "state.db",
                "schedule_interval": "2s",
                "log_level": "debug",
            },
            # Patience with a peer that gets no CPU: only a peer that is down makes jobs start alone.
            # And none with one that is: tests of the grace give it one.
            # Nor is another job awaited in the place of one that was cancelled.
            "coscheduling": {
                "peer_timeout": 30,
                "peer_patience": "60s",
                "peer_grace": 0,
                "heartbeat_interval": 1,
                "successor_patience": 0,
            },
            "peer": [],
            "manager": {"kind": "local", "slots": 4, "policy": "fcfs", "grace": 1},
        }

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def socket(self) -> str:
        return f"unix:{self.folder / 'sock'}"

    @property
    def log(self) -> str:
        path = self.folder / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    def add_peer(self, name: str, address: str, **more: Any) -> None:
        self.config["peer"].append({"name": name, "address": address, **more})

    def start(self, *, wait: bool = True) -> Service:
        path = self.folder / "config.toml"
        path.write_text(toml(self.config))
        self.process = self._process(
            ["serve", "--config", str(path), *self.options], {**os.environ, **self.environment}
        )
        if wait:
            wait_until(self.is_serving, f"{self.name} serves:\n{self.log}")
        return self

    def _process(self, arguments: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes] | Forked:
        path = self.folder / "log"
        with path.open("ab") as log:
            self._said_before = log.tell()
            if not self.wrapper:
                return Forked(arguments, self.folder, environment, NOTHING, path, path)
            return subprocess.Popen(
                [*self.wrapper, *arguments],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.folder, env=environment,
            )  # fmt: skip

    def is_serving(self) -> bool:
        """Whether it listens wherever it should, as it says when it does, and answers."""
        assert self.process is not None
        assert self.process.poll() is None, f"{self.name} ended with {self.process.returncode}:\n{self.log}"
        if f"serving {self.name} on " not in self._said_since_start():
            return False
        try:
            with self.client() as client:
                return bool(client.domain().name == self.name)
        except Unreachable:
            return False

    def _said_since_start(self) -> str:
        with (self.folder / "log").open("rb") as log:
            log.seek(self._said_before)
            return log.read().decode(errors="replace")

    def kill(self, number: int = signal.SIGKILL) -> int:
        """End it by a signal, at once or gracefully; its exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def stop(self) -> int:
        return self.kill(signal.SIGTERM)

    def restart(self) -> None:
        self.kill()
        self.start()

    def client(self, **options: Any) -> Client:
        return _Client(self.socket, self.folder, **options)

    def run(self, *arguments: str, cwd: Path | None = None, text: str = "") -> subprocess.CompletedProcess[str]:
        """A command of its user, whose jobs run in the folder of the test's unless it says where."""
        environment = {**os.environ, "COSCHED_SERVER": self.socket, **self.environment}
        folder = cwd or self.folder.parent
        if not self.wrapper:
            return ran([*arguments], folder, environment, text)
        command = [*self.wrapper, *arguments]
        return subprocess.run(command, cwd=folder, env=environment, input=text, capture_output=True, text=True)

    def faults(self) -> list[str]:
        """What it has logged with a stack trace, but for the library's own complaint about clients that hang up."""
        assert self.process is not None
        assert self.process.poll() is None
        lines = [line for line in self.log.splitlines() if '"exception"' in line or "a fault of the service" in line]
        return [line for line in lines if "ExecuteBatchError" not in line]

    def clear(self) -> None:
        """Leave no process behind: neither the service nor jobs."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        marks = [str(self.folder).encode()]
        for _ in range(3):
            for pid in _processes_with(marks):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue


def _processes_with(marks: list[bytes]) -> list[int]:
    """Processes whose command line or environment mentions a folder of the test's."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            text = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
        except OSError:
            continue
        if any(mark in text for mark in marks) and b"pytest" not in text.split(b"\0")[0:3]:
            found.append(int(entry.name))
    return found


class Federation:
    """Domains with these names, all of them peers, by plain text on loopback."""

    def __init__(self, folder: Path, names: Sequence[str], **coscheduling: Any) -> None:
        self.folder = folder
        self.services = tuple(Service(folder / name, name) for name in names)
        for service, peer in permutations(self.services, 2):
            service.add_peer(peer.name, peer.address)
        for service in self.services:
            service.config["coscheduling"].update(coscheduling)

    def start(self) -> Self:
        for service in self.services:
            service.start(wait=False)
        for service in self.services:
            wait_until(service.is_serving, service.name)
        return self

    def clear(self) -> None:
        for service in self.services:
            service.clear()


class Pair(Federation):
    """Two domains, a and b."""

    def __init__(self, folder: Path, **coscheduling: Any) -> None:
        super().__init__(folder, "ab", **coscheduling)
        self.both = self.a, self.b = self.services


def script_that_notes(folder: Path, seconds: float = 0.1) -> str:
    """A job that writes one line `DOMAIN JOB PAIR SECONDS_SINCE_1970` per start (PAIR: or group), and sleeps.

    Lines are appended: a job that ran twice has two.
    """
    return f"""#!/bin/bash
echo "$COSCHED_DOMAIN $COSCHED_JOB_ID ${{COSCHED_PAIR:-${{COSCHED_GROUP:--}}}} $EPOCHREALTIME" >> {folder}/starts
sleep {seconds}
"""


def script_that_waits(folder: Path, go: Path) -> str:
    """A job that notes its start and runs until there is a file `go`, however long a test takes."""
    return script_that_notes(folder, 0) + f"while [ ! -e {go} ]; do sleep 0.05; done\n"


def fill(service: Service, nodes: int = 4) -> Path:
    """Have a job run on all nodes of the service's domain, so that others wait, until there is the file returned."""
    go = service.folder / "go"
    with service.client() as client:
        blocker = client.submit(f"#!/bin/sh\nwhile [ ! -e {go} ]; do sleep 0.05; done\n", nodes=nodes)
        wait_until(lambda: client.job(blocker).state == "running")
    return go


def script_that_adapts(folder: Path, seconds: float = 0.1) -> str:
    """A malleable job that notes its start, and iterates for so long, on the nodes that it is given."""
    return f"""#!{sys.executable}
import os, time
from cosched.client.adaptive import AdaptiveJob

name = os.environ.get("COSCHED_PAIR") or os.environ.get("COSCHED_GROUP") or "-"
with open("{folder}/starts", "a") as file:
    file.write(" ".join([os.environ["COSCHED_DOMAIN"], os.environ["COSCHED_JOB_ID"], name, str(time.time())]) + "\\n")
job, end = AdaptiveJob(), time.monotonic() + {seconds}
while time.monotonic() < end:
    time.sleep(0.02)
    if job.boundary():
        job.adapted()
"""


def start_together(services: Iterable[Service]) -> bool:
    """Whether all jobs with mates that have started did so with them: by the records, whatever the machine's pace."""
    whys: list[str] = []
    for service in services:
        with service.client() as client:
            whys += [event.detail["why"] for event in client.events(0, kinds=["started"], until_now=True)]
    whys = [why for why in whys if why != Why.NO_MATE]
    return bool(whys) and all(why.startswith(WITH_MATES) for why in whys)


def noted(folder: Path) -> list[tuple[str, str, str, float]]:
    """The starts that jobs have noted: domain, job, pair, time."""
    path = folder / "starts"
    lines = path.read_text().splitlines() if path.exists() else []
    return [(d, j, p, float(t)) for d, j, p, t in (line.split() for line in lines)]
