"""What somebody does who wants others not to be served, in a process of its own until it is killed.

    python -m tests.live.attacks KIND TARGET [CA CERTIFICATE KEY] [--user USER]

It says "ready" once it has begun. TARGET is unix:PATH or HOST:PORT.
"""

import argparse
import os
import resource
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import grpc

from cosched.client import Tls
from cosched.client.connection import open_channel
from cosched.service.wire.tls_files import TlsFiles
from cosched.v1 import domain_pb2
from cosched.v1.domain_pb2_grpc import DomainServiceStub
from tests.live.other_users import become
from tests.live.raw_http2 import RawConnection, dial

READERS, CONNECTIONS, CALLS, SILENT, WATCHERS = 16, 3, 200, 1015, 256
STANDING = 500
RARE = domain_pb2.EVENT_KIND_RELEASED
ELSEWHERE = "127.0.0.66"  # where attackers connect from: a host is limited as a whole, also what is honest there
METHODS = ("/cosched.v1.DomainService/GetDomain", "/cosched.v1.CoschedulingService/GetMateStatus")


@contextmanager
def under_attack(kind: str, target: str, tls: TlsFiles | None = None, user: str | None = None) -> Iterator[None]:
    """Somebody attacks meanwhile: over the Unix socket as that user, over TLS with that certificate."""
    command = [sys.executable, "-m", __name__, kind, target]
    command += [str(path) for path in tls._paths] if tls is not None else []
    command += ["--user", user] if user is not None else []
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) as process:
        try:
            assert process.stdout.readline() == b"ready\n"
            yield
            assert process.poll() is None, "the attack ended"
        finally:
            process.kill()


class Attacker:
    """Who attacks one service."""

    def __init__(self, target: str, tls: TlsFiles | None) -> None:
        self.target = target
        self.tls = tls
        self._begun = threading.Event()

    def begun(self) -> None:
        """Tell whoever waits for it, once."""
        if not self._begun.is_set():
            self._begun.set()
            print("ready", flush=True)

    # Kinds

    def history(self) -> None:
        """Ask for what is rare in all of the history, and for jobs that hardly any are, again and again."""
        with ThreadPoolExecutor(READERS) as pool:
            list(pool.map(self._read, [self._channel()] * READERS))

    def _read(self, channel: grpc.Channel) -> None:
        stub = DomainServiceStub(channel)
        watch = domain_pb2.WatchEventsRequest(after_sequence=0, kinds=[RARE], until_now=True)
        jobs = domain_pb2.ListJobsRequest(paired_only=True, states=["JOB_STATE_FAILED", "JOB_STATE_CANCELLED"])
        while True:
            with suppress(grpc.RpcError):
                self.begun()
                list(stub.WatchEvents(watch))
                stub.ListJobs(jobs)

    def half_open(self) -> None:
        """Begin calls, and send no message; begin others where these are ended."""
        tls = (self.tls._paths[0], self.tls) if self.tls is not None else None
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            list(pool.map(self._keep_half_open, [tls] * CONNECTIONS))

    def _keep_half_open(self, tls: tuple[Path, TlsFiles] | None) -> None:
        while True:
            with suppress(OSError):
                connection = RawConnection(self._dial(tls))
                for number in range(CALLS):
                    connection.begin(METHODS[number % 2])
                self.begun()
                while connection.ended(3600) is not None:
                    connection.begin(METHODS[0])
                    time.sleep(0.02)
            time.sleep(0.1)

    def silent(self) -> None:
        """Connect, say nothing, and connect again where that is ended."""
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
        connections = []
        while True:
            for _ in range(SILENT - len(connections)):
                with suppress(OSError):
                    connections.append(self._dial())
                    connections[-1].setblocking(False)
            self.begun()
            time.sleep(0.2)
            connections = [connection for connection in connections if _stands(connection)]

    def watchers(self) -> None:
        """Watch what happens, by many calls."""
        channel = self._channel()
        calls = [DomainServiceStub(channel).WatchEvents(domain_pb2.WatchEventsRequest()) for _ in range(WATCHERS)]
        with suppress(grpc.RpcError):
            next(calls[-1])  # one too many
        self.begun()
        while True:
            time.sleep(3600)

    def flood(self) -> None:
        """Connect as often as possible, and say nothing; of these connections the last hundreds stand."""
        os.nice(19)
        standing: deque[socket.socket] = deque()
        while True:
            with suppress(OSError):
                standing.append(self._dial())
            if len(standing) > STANDING:
                standing.popleft().close()
            self.begun()

    def garbage(self) -> None:
        """Connect as often as possible, and say what means nothing."""
        os.nice(19)
        while True:
            with suppress(OSError), self._dial() as connection:
                connection.sendall(b"\0\xffgarbage\n" * 3)
            self.begun()

    # Means

    def _dial(self, tls: tuple[Path, TlsFiles] | None = None) -> socket.socket:
        return dial(self.target, tls, ELSEWHERE)

    def _channel(self) -> grpc.Channel:
        if self.tls is None:
            return open_channel(grpc, self.target, None)
        ca, certificate, key = self.tls._paths
        return open_channel(grpc, self.target, Tls(ca, certificate, key, "spiffe://site/cosched/a"))


def _stands(connection: socket.socket) -> bool:
    try:
        return bool(connection.recv(65536))
    except BlockingIOError:
        return True
    except OSError:
        return False


def _main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["history", "half_open", "silent", "watchers", "flood", "garbage"])
    parser.add_argument("target")
    parser.add_argument("tls", nargs="*", type=Path)
    parser.add_argument("--user")
    given = parser.parse_args()
    tls = TlsFiles(*given.tls) if given.tls else None
    if given.user:
        become(given.user)
    getattr(Attacker(given.target, tls), given.kind)()


if __name__ == "__main__":
    _main()
