"""Service processes for tests: started, killed, asked, and taken down with the jobs that they leave."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, suppress
from itertools import cycle, permutations
from pathlib import Path
from sqlite3 import connect
from typing import Any, Self
from urllib.request import urlopen

from cosched.client import Client, Job, Unreachable
from cosched.core.story import Why
from tests.live.forked import NOTHING, Forked, ran
from tests.waiting import PATIENCE, wait_until

COMMAND = (str(Path(sys.executable).with_name("cosched")),)
WITH_MATES = (Why.ASKED_BY_PEER, Why.MATE_COULD_START, Why.HOLDING_MATE_STARTED, Why.AT_SLOT, Why.ALL_BOOKED)


# Ports for this process: other testers take others, and the kernel gives higher ones to whoever asks for any.
_TESTER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_PORTS = cycle(10_000 + 1000 * (_TESTER % 22) + (os.getpid() + number) % 1000 for number in range(1000))


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


class LocalClient(Client):
    """Its jobs run, and leave their output, in the service's folder, unless they say where."""

    def __init__(self, service: Service, **options: Any) -> None:
        super().__init__(service.socket, **options)
        self._folder = service.folder

    def submit(self, *arguments: Any, **options: Any) -> Job:
        return super().submit(*arguments, **{"directory": self._folder, **options})


class Service(AbstractContextManager):
    """One `cosched serve`, in a folder of its own, on a port that it keeps over restarts; a context clears it."""

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
                "name": name, "listen": f"127.0.0.1:{self.port}", "plaintext": True, "socket": "sock",
                "state": "state.db", "schedule_interval": "2s", "log_level": "debug",
            },
            # Patience with a peer that gets no CPU: only a peer that is down makes jobs start alone.
            # And none with one that is: tests of the grace give it one.
            # Nor is another job awaited in the place of one that was cancelled.
            "coscheduling": {
                "peer_timeout": 30, "peer_patience": "60s", "peer_grace": 0, "heartbeat_interval": 1,
                "successor_patience": 0,
            },
            "peer": [],
            "manager": {"kind": "local", "slots": 4, "policy": "fcfs", "grace": 1},
        }  # fmt: skip

    def __exit__(self, *_: object) -> None:
        self.clear()

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

    def schedule_by(self, scheduler: str, **settings: Any) -> None:
        """From its next start on, by this scheduler in the place of the batch scheduler."""
        del self.config["manager"]["policy"]
        self.config["manager"] |= {"scheduler": scheduler, **settings}

    def listen_to_http(self) -> str:
        """From its next start on; the address."""
        self.config["domain"]["http"] = address = f"127.0.0.1:{free_port()}"
        return address

    def start(self, *, wait: bool = True) -> Service:
        path, log_path = self.folder / "config.toml", self.folder / "log"
        path.write_text(toml(self.config))
        arguments, environment = ["serve", "--config", str(path), *self.options], {**os.environ, **self.environment}
        with log_path.open("ab") as log:
            self._said_before = log.tell()
            if self.wrapper:
                self.process = subprocess.Popen(
                    [*self.wrapper, *arguments],
                    stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.folder, env=environment,
                )  # fmt: skip
            else:
                self.process = Forked(arguments, self.folder, environment, NOTHING, log_path, log_path)
        if wait:
            wait_until(self.is_serving, f"{self.name} serves:\n{self.log}")
        return self

    def is_serving(self) -> bool:
        """Whether it listens wherever it should, as it says when it does, and answers."""
        assert self.process.poll() is None, f"{self.name} ended with {self.process.returncode}:\n{self.log}"
        with (self.folder / "log").open("rb") as log:
            log.seek(self._said_before)
            if f"serving {self.name} on ".encode() not in log.read():
                return False
        try:
            with self.client() as client:
                return bool(client.domain().name == self.name)
        except Unreachable:
            return False

    def kill(self, number: int = signal.SIGKILL) -> int:
        """End it by a signal, at once or gracefully; its exit code."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def stop(self) -> int:
        return self.kill(signal.SIGTERM)

    def restart(self) -> None:
        self.kill()
        self.start()

    def client(self, **options: Any) -> Client:
        """A client that is patient with a service that gets no CPU, unless `options` say otherwise."""
        return LocalClient(self, **{"timeout": PATIENCE, **options})

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
        assert self.process.poll() is None
        lines = [line for line in self.log.splitlines() if '"exception"' in line or "a fault of the service" in line]
        return [line for line in lines if "ExecuteBatchError" not in line]

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What is in its database, be it on disk or not."""
        with closing(connect(f"file:{self.folder / 'state.db'}?mode=ro", uri=True)) as database:
            return database.execute(query).fetchall()

    def metrics(self) -> dict[str, float]:
        """The values of all series, by name and labels as they stand there."""
        with urlopen(f"http://{self.config['domain']['http']}/metrics", timeout=PATIENCE) as answer:
            lines = answer.read().decode().splitlines()
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}

    def clear(self) -> None:
        """Leave no process behind: neither the service nor jobs."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for _ in range(3):
            for pid in _processes_with(str(self.folder).encode()):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def _processes_with(mark: bytes) -> Iterator[int]:
    """Processes whose command line or environment mentions a folder of the test's."""
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            text = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            if mark in text and b"pytest" not in text.split(b"\0")[0:3] and int(entry.name) != os.getpid():
                yield int(entry.name)


def installed(folder: Path, package: str, scheduler: str, *modules: Path) -> dict[str, str]:
    """Install a package with a scheduler, `NAME = MODULE:OBJECT`; the environment in which it is found."""
    about = folder / "packages" / f"{package}-1.dist-info"
    about.mkdir(parents=True, exist_ok=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
    (about / "entry_points.txt").write_text(f"[cosched.schedulers]\n{scheduler}\n")
    return {"PYTHONPATH": ":".join(map(str, [about.parent, *modules]))}


def start_all(services: Iterable[Service]) -> None:
    for service in services:
        service.start(wait=False)
    for service in services:
        wait_until(service.is_serving, f"{service.name} serves:\n{service.log}")


def restart_all(services: Iterable[Service]) -> None:
    """Kill them all before any is started again."""
    for service in services:
        service.kill()
    start_all(services)


class Federation(AbstractContextManager):
    """Domains with these names, all of them peers, by plain text on loopback; a context clears them."""

    def __init__(self, folder: Path, names: Sequence[str], **coscheduling: Any) -> None:
        self.folder = folder
        self.services = tuple(Service(folder / name, name) for name in names)
        for service, peer in permutations(self.services, 2):
            service.add_peer(peer.name, peer.address)
        for service in self.services:
            service.config["coscheduling"].update(coscheduling)

    def __exit__(self, *_: object) -> None:
        self.clear()

    def start(self) -> Self:
        start_all(self.services)
        return self

    def faults(self) -> list[str]:
        """Those of all services."""
        return [fault for service in self.services for fault in service.faults()]

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


def whys(service: Service, *jobs: Job | str, kind: str = "started") -> list[str]:
    """Why events of that kind have happened to these jobs, or to all."""
    with service.client() as client:
        return [event.detail["why"] for event in client.events(0, jobs, [kind], until_now=True)]


def start_together(services: Iterable[Service]) -> bool:
    """Whether all jobs with mates that have started did so with them: by the records, whatever the machine's pace."""
    found = [why for service in services for why in whys(service) if why != Why.NO_MATE]
    return bool(found) and all(why.startswith(WITH_MATES) for why in found)


def noted(folder: Path) -> list[tuple[str, str, str, float]]:
    """The starts that jobs have noted: domain, job, pair, time."""
    path = folder / "starts"
    lines = path.read_text().splitlines() if path.exists() else []
    return [(d, j, p, float(t)) for d, j, p, t in (line.split() for line in lines)]
