"""PrologSlurmctld's hook and services that are broken: whatever they say, the job starts in the end."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Thread

import pytest

from deploy.slurm.lab import wait_for
from tests.slurm.cosched_hooks import Site, hooks, site
from tests.slurm.test_hooks_prolog import END, START, YIELD

SHORT_PATIENCE = 3  # seconds, of hooks that wait for nobody: after four times as long they have noticed
__all__ = ["hooks"]


class Babbler:
    """A service that accepts, does what it likes with the connection, and keeps it open where that returns."""

    def __init__(self, path: Path, behave: Callable[[socket.socket], object], backlog: int = 9) -> None:
        self.calls = 0
        self.heard = b""
        self._behave = behave
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        self._listening.listen(backlog)
        self._peers: list[socket.socket] = []
        self._thread = Thread(target=self._serve)

    def __enter__(self) -> Babbler:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)  # wakes the thread
        self._thread.join()
        for each in (self._listening, *self._peers):
            each.close()

    def _serve(self) -> None:
        while True:
            try:
                peer, _ = self._listening.accept()
            except OSError:
                return
            self.calls += 1
            self._peers.append(peer)
            with suppress(OSError):  # who has hung up already has said something before
                self._behave(peer)
            try:
                peer.settimeout(END)
                while data := peer.recv(9000):
                    self.heard += data
            except OSError:
                pass


def drip(peer: socket.socket) -> None:
    for _ in range(100):
        peer.sendall(b"p")
        time.sleep(0.05)


def park_and_hang_up(peer: socket.socket) -> None:
    peer.sendall(b"parked\n")
    peer.shutdown(socket.SHUT_RDWR)


BEHAVIOURS: dict[str, Callable[[socket.socket], object]] = {
    "nonsense": lambda peer: peer.sendall(b"<html>\n"),
    "a line of nothing": lambda peer: peer.sendall(b"\n"),
    "zeros": lambda peer: peer.sendall(bytes(9000)),
    "a line too long": lambda peer: peer.sendall(b"parked" + 8187 * b" " + b"\n"),
    "an instant that is none": lambda peer: peer.sendall(b"parked\nstart\tat=soon\n"),
    "an instant too large": lambda peer: peer.sendall(b"parked\nstart\tat=999999999999.0\n"),
    "a field that is none": lambda peer: peer.sendall(b"parked\nyield\tnow\n"),
    "an answer to another question": lambda peer: peer.sendall(b"open\n"),
    "hangs up": lambda peer: peer.close(),
    "parks and hangs up": park_and_hang_up,
    "silence": lambda peer: None,  # noqa: ARG005
    "one byte after the other": drip,
}


def test_whatever_a_broken_service_says_the_job_starts_in_the_end() -> None:
    with ExitStack() as stack:
        sites = {name: stack.enter_context(site(patience=1)) for name in BEHAVIOURS}
        broken = {name: stack.enter_context(Babbler(sites[name].socket, BEHAVIOURS[name])) for name in BEHAVIOURS}
        hooks = {name: each.prolog() for name, each in sites.items()}
        assert {name: hook.wait(END) for name, hook in hooks.items()} == dict.fromkeys(BEHAVIOURS, START)
        assert {name: len(each.messages()) for name, each in sites.items()} == dict.fromkeys(BEHAVIOURS, 1)
        wait_for(lambda: all(each.calls for each in broken.values()), "the calls of all")
        assert all(each.calls <= 7 for each in broken.values())  # a pause of 0.2 s after each, and a last word


def test_a_service_with_a_full_queue_does_not_hang_a_hook() -> None:
    with site(patience=1) as hooks, socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as first:
        listening.bind(str(hooks.socket))
        listening.listen(0)
        first.connect(str(hooks.socket))
        assert hooks.prolog().wait(END) == START
        assert len(hooks.messages()) == 1


def test_bytes_that_come_one_by_one_are_a_line(hooks: Site) -> None:
    def slowly(peer: socket.socket) -> None:
        for byte in b"parked\nyield\n":
            peer.sendall(bytes([byte]))

    with Babbler(hooks.socket, slowly):
        assert hooks.prolog().wait(END) == YIELD


@pytest.mark.soak  # it waits for the hook's patience
def test_a_service_that_hangs_is_noticed_by_those_who_wait() -> None:
    with site(SHORT_PATIENCE) as hooks, Babbler(hooks.socket, lambda peer: peer.sendall(b"parked\n")) as silent:
        assert hooks.prolog().wait(END) == START
        wait_for(lambda: silent.heard.endswith(b"\nwaiting\nstarting\tjob=17\trestarts=0\n"), "its question and end")
        assert (silent.heard.count(b"waiting"), len(hooks.messages())) == (1, 1)
