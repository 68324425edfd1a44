"""The hooks' socket with more connections than it takes: the hooks find room, whatever others do."""

import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from cosched_adapters import hook_socket
from cosched_adapters.slurm import hook_server
from deploy.slurm.lab import wait_for
from tests.slurm.cosched_hooks import Service, Site, hooks
from tests.slurm.test_hooks_server import END, READY, Peer, as_root, asked

NOBODY = 65534
__all__ = ["hooks"]
pytestmark = as_root


def test_of_a_user_who_has_too_many_connections_the_oldest_goes(hooks: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook_server, "_FIRST_LINE", END)
    with Service(hooks.socket), ExitStack() as stack:
        silent = [stack.enter_context(Peer(hooks.socket, user=NOBODY)) for _ in range(65)]
        assert silent[0].rest() == b""
        assert asked(hooks.socket, NOBODY) == asked(hooks.socket, 8) == b"open\n"
        silent[-1].say(b"gate\tjob=2\n")
        assert silent[-1].rest() == b"open\n"


def test_hooks_find_room_whatever_others_do(hooks: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook_server, "_FIRST_LINE", END)
    monkeypatch.setattr(hook_socket, "MOST", 100)
    with Service(hooks.socket) as service, ExitStack() as stack:
        for user in range(1, 5):
            for _ in range(50):
                stack.enter_context(Peer(hooks.socket, user=user))
        waiting = [stack.enter_context(Peer(hooks.socket, READY % job)) for job in range(1, 81)]
        assert {hook.line() for hook in waiting} == {b"parked\n"}
        for user in range(1, 5):
            for _ in range(50):
                stack.enter_context(Peer(hooks.socket, user=user))
        assert all(service.start(job) for job in range(1, 81))


def test_a_hook_waits_in_the_sockets_queue_where_nobody_gets_in_before_it(hooks: Site) -> None:
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as first:
        listening.bind(str(hooks.socket))
        listening.listen(0)
        first.connect(str(hooks.socket))
        waits = hooks.prolog()
        (program,) = wait_for(lambda: _children(waits.pid), "the hook to begin")
        place = Path(f"/proc/{program}/wchan")
        wait_for(lambda: place.read_text() == "unix_wait_for_peer", "the hook to wait in the queue")
        listening.accept()[0].close()
        with listening.accept()[0] as hook:
            assert hook.recv(6) == b"ready\t"
            hook.sendall(b"yield\n")
            assert waits.wait(END) == 1


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
