"""The service's side of the hooks: who may say what, how much of it, and what becomes of it."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Event

import pytest

from cosched_adapters.hook_lines import MAX_LINE, LineError, decode, encode
from cosched_adapters.slurm.hook_protocol import instant
from cosched_adapters.slurm.hook_server import HookServer
from deploy.slurm.lab import wait_for
from tests.slurm.cosched_hooks import Service, Site, hooks, service

READY = b"ready\tjob=%d\tnodes=1\tuid=7\trestarts=0\tcomment=c\n"
READY_WITH_FAREWELL = READY.replace(b"\n", b"\tfarewell=1\n")
END = 300  # seconds: a safety net
__all__ = ["hooks", "service"]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")


class Peer:
    """A connection that says what it likes."""

    def __init__(self, path: Path, said: bytes = b"", user: int | None = None) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            if user is not None:
                os.seteuid(user)
            self._socket.connect(str(path))
        finally:
            if user is not None:
                os.seteuid(0)
        self._socket.settimeout(END)  # only now: with it, who finds the queue full does not wait
        self.say(said)

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *error: object) -> None:
        self.hang_up()

    def hang_up(self) -> None:
        self._socket.close()

    def say(self, said: bytes) -> None:
        with suppress(ConnectionError):  # hung up on already
            self._socket.sendall(said)

    def line(self) -> bytes:
        """The next line."""
        line = b""
        while not line.endswith(b"\n"):
            byte = self._socket.recv(1)
            assert byte, line
            line += byte
        return line

    def rest(self) -> bytes:
        """All that comes until the service hangs up."""
        rest = b""
        with suppress(ConnectionResetError):
            while more := self._socket.recv(100):
                rest += more
        return rest


def asked(path: Path, user: int) -> bytes:
    """The answer to a user's gate."""
    with Peer(path, b"gate\tjob=2\n", user) as gate:
        return gate.rest()


def test_a_line_reads_as_it_was_written() -> None:
    fields = {"comment": "a=b\tc\nd%\udcff→", "empty": "", "nodelist": "a[1-4]"}
    line = encode("ready", fields)
    assert (line.count(b"\t"), line.count(b"\n")) == (3, 1)
    assert decode(line[:-1]) == ("ready", fields)


@pytest.mark.parametrize(
    "line", [b"", b"\t", b"a\t", b"a\t\tb=1", b"a\tb", b"a\tb=1\tb=2", b"a\tb=\xff", b"a\r", b"a\0", b"a\tb=\x7f"]
)
def test_what_is_no_line_is_refused(line: bytes) -> None:
    with pytest.raises(LineError):
        decode(line)


def test_an_instant_is_written_to_the_nanosecond_and_must_be_one() -> None:
    assert instant(1795279039.25) == {"at": "1795279039.250000000"}
    for at in (-1.0, float("nan"), float("inf"), 1e12):
        with pytest.raises(ValueError, match="not an instant"):
            instant(at)


@pytest.mark.parametrize(
    "said",
    [
        b"hello\n",
        b"GET / HTTP/1.1\r\n",
        b"ready\n",
        b"ready\tjob=0\tnodes=1\tuid=7\trestarts=0\n",
        b"ready\tjob=1;2\tnodes=1\tuid=7\trestarts=0\n",
        b"ready\tjob=1\tnodes=-1\tuid=7\trestarts=0\n",
        b"ready\tjob=1\tnodes=1\trestarts=0\n",
        b"ended\tjob=\n",
        b"gate\n",
        b"waiting\n",
        b"\n",
        bytes(9000),
        b"ready\tjob=1\tcomment=" + MAX_LINE * b"x",
        b"ready\tjob=1\tnodes=1\tuid=7\trestarts=0\tcomment=" + MAX_LINE * b"x" + b"\n",
    ],
)
def test_who_says_what_is_not_of_the_protocol_is_hung_up_on(hooks: Site, service: Service, said: bytes) -> None:
    with Peer(hooks.socket, said) as peer:
        assert peer.rest() == b""
    assert service.told == []


def test_a_hook_that_says_more_withdraws_its_offer(hooks: Site, service: Service) -> None:
    with Peer(hooks.socket, READY % 1 + READY % 2) as peer:
        assert peer.rest() in (b"", b"parked\n")
    service.wait_for("withdrawn 1")
    assert service.told == ["offer 1", "withdrawn 1"]


def test_who_says_nothing_is_hung_up_on(hooks: Site, service: Service) -> None:
    with Peer(hooks.socket) as silent, Peer(hooks.socket, b"rea") as slow, Peer(hooks.socket, READY % 1) as hook:
        assert silent.rest() == slow.rest() == b""
        assert hook.line() == b"parked\n"
        hook.say(b"waiting\n")
        assert hook.line() == b"parked\n"
    service.wait_for("withdrawn 1")


def test_hooks_that_have_lost_their_patience_before_they_were_heard_offer_nothing(
    hooks: Site, service: Service
) -> None:
    heard = Event()
    service.occupy(heard)
    for _ in range(3):
        with Peer(hooks.socket, READY % 1):
            pass
    with Peer(hooks.socket, READY % 1) as patient:
        heard.set()
        assert patient.line() == b"parked\n"
    service.wait_for("withdrawn 1")
    assert service.told == ["offer 1", "withdrawn 1"]


def test_a_hook_that_should_say_that_its_job_starts_and_hangs_up_without_was_killed(
    hooks: Site, service: Service
) -> None:
    with Peer(hooks.socket, READY_WITH_FAREWELL % 1) as hook:
        assert hook.line() == b"parked\n"
        hook.say(b"starting\tjob=1\trestarts=0\n")
    service.wait_for("withdrawn 1")
    with Peer(hooks.socket, READY_WITH_FAREWELL % 2) as hook:
        assert hook.line() == b"parked\n"
    service.wait_for("killed 2")
    with Peer(hooks.socket, READY_WITH_FAREWELL % 3) as hook:
        assert hook.line() == b"parked\n"
        service.give_back(3)
        assert hook.rest() == b"yield\n"
    with Peer(hooks.socket, READY_WITH_FAREWELL % 4) as hook:
        assert hook.line() == b"parked\n"
        service.start(4)
    service.wait_for("killed 4")
    first, second, third, fourth = [[w for w in service.told if w.split()[1] == job] for job in "1234"]
    assert first == ["offer 1", "starting 1 0", "withdrawn 1"]
    assert second == ["offer 2", "withdrawn 2", "killed 2"]
    assert third == ["offer 3"]
    assert fourth == ["offer 4", "killed 4"]


def test_of_two_hooks_for_one_job_the_older_is_ended(hooks: Site, service: Service) -> None:
    with Peer(hooks.socket, READY % 1) as old:
        service.wait_for_offer(1)
        with Peer(hooks.socket, READY % 1) as new:
            assert old.rest() == b"parked\nyield\n"
            service.wait_for_offer(1, times=2)
            assert service.told == ["offer 1", "withdrawn 1", "offer 1"]
            assert service.start(1)
            assert (new.line(), new.line()) == (b"parked\n", b"start\n")


def test_a_stale_hook_is_ended_when_that_is_asked_for(hooks: Site, service: Service) -> None:
    hook = hooks.prolog()
    service.wait_for_offer(17)
    assert service.end(17)
    assert hook.wait(END) == 1
    assert not service.end(17)
    assert service.told == ["offer 17"]


@as_root
@pytest.mark.parametrize("told", ["start", "give_back", "end"])
def test_a_hook_that_hangs_up_just_before_it_is_told_something_is_withdrawn_once(
    hooks: Site, service: Service, told: str
) -> None:
    with Peer(hooks.socket, READY % 1) as hook:
        service.wait_for_offer(1)

        def hang_up_and_tell() -> bool:
            hook.hang_up()
            return bool(getattr(service.server, told)("1"))

        assert not service.call(hang_up_and_tell)
        service.wait_for("withdrawn 1")
    assert not service.give_back(1)
    assert service.told == ["offer 1", "withdrawn 1"]


def test_only_slurm_user_and_root_offer_jobs_and_tell_their_ends(hooks: Site) -> None:
    other, slurm = 12345, 64030
    with Service(hooks.socket, slurm_user=slurm) as service:
        for user, admitted in ((other, False), (slurm, True), (0, True)):
            with Peer(hooks.socket, READY % (user + 1), user) as peer:
                assert peer.line() == b"parked\n" if admitted else peer.rest() == b""
            with Peer(hooks.socket, b"ended\tjob=%d\tstate=FAILED\n" % (user + 1), user) as peer:
                assert peer.rest() == b""
        service.wait_for("withdrawn 1")
        assert {line.split()[1] for line in service.told} == {"64031", "1"}
        assert service.told.count("FAILED 64031") == 1


@as_root
def test_the_gate_opens_for_the_jobs_user_slurm_user_and_root(hooks: Site) -> None:
    with Service(hooks.socket, slurm_user=64030) as service, Peer(hooks.socket, READY % 1):
        service.wait_for_offer(1)
        service.start(1, time.time() + 1000)
        for user, admitted in ((7, True), (64030, True), (0, True), (8, False)):
            with Peer(hooks.socket, b"gate\tjob=1\tstep=batch\n", user) as peer:
                assert peer.rest().startswith(b"open\tat=") is admitted
        assert asked(hooks.socket, 8) == b"open\n"


def test_with_gates_a_job_is_let_go_earlier_than_they_open(hooks: Site) -> None:
    with Service(hooks.socket, gate_lead=0.25) as service, Peer(hooks.socket, READY % 1) as hook:
        service.wait_for_offer(1)
        at = float(int(time.time()) + 1000)
        service.start(1, at)
        assert (hook.line(), hook.line()) == (b"parked\n", b"start\tat=%.9f\n" % (at - 0.25))
        with Peer(hooks.socket, b"gate\tjob=1\n") as gate:
            assert gate.rest() == b"open\tat=%.9f\n" % at


def test_a_gate_that_asks_late_or_about_a_job_without_an_instant_opens_at_once(hooks: Site, service: Service) -> None:
    with Peer(hooks.socket, READY % 1), Peer(hooks.socket, READY % 2):
        service.wait_for_offer(1)
        service.wait_for_offer(2)
        service.start(1, time.time() - 1)
        service.start(2)
        for job in (1, 2, 3):
            with Peer(hooks.socket, b"gate\tjob=%d\n" % job) as gate:
                assert gate.rest() == b"open\n"


def test_the_end_of_a_job_is_told_with_its_times(hooks: Site, service: Service) -> None:
    environment = {
        "JOBID": "4", "JOBSTATE": "FAILED", "EXITCODE": "3:0", "SUBMIT": "1795279039", "START": "0",
        "END": "1795279050", "ARRAYJOBID": "0", "ARRAYTASKID": "4294967294",
    }  # fmt: skip
    assert hooks.run("jobcomp", environment).wait(END) == 0
    service.wait_for("FAILED 4")
    (end,) = service.ends
    assert (end.exit_code, end.submitted_at, end.started_at, end.ended_at) == ("3:0", 1795279039, None, 1795279050)
    assert (end.array, end.het) == (None, None)
    environment |= {"ARRAYJOBID": "2", "ARRAYTASKID": "3", "HETJOBID": "4", "HETJOBOFFSET": "0"}
    assert hooks.run("jobcomp", environment).wait(END) == 0
    service.wait_for("FAILED 4", times=2)
    assert (service.ends[1].array, service.ends[1].het) == ("2_3", "4+0")


def test_the_end_of_a_job_is_not_told_for_long_to_who_does_not_listen(hooks: Site) -> None:
    environment = {"JOBID": "4", "JOBSTATE": "FAILED"}
    assert hooks.run("jobcomp", environment).wait(END) == 0  # nobody
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as first:
        listening.bind(str(hooks.socket))
        listening.listen(0)
        first.connect(str(hooks.socket))
        assert hooks.run("jobcomp", environment).wait(END) == 0
    assert hooks.messages() == []


def test_the_gate_waits_for_its_instant_and_never_fails_a_job(hooks: Site) -> None:
    job = {"SLURM_JOB_ID": "1"}
    assert hooks.run("task-prolog", job).wait(END) == 0  # without a service
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(hooks.socket))
        listening.listen(9)
        assert hooks.run("task-prolog", job).wait(END) == 0  # one that hangs
    with Service(hooks.socket) as service, Peer(hooks.socket, READY % 1):
        service.wait_for_offer(1)
        at = time.time() + 0.5
        service.start(1, at)
        assert hooks.run("task-prolog", job).wait(END) == 0
        assert time.time() >= at
        assert hooks.run("task-prolog", job).wait(END) == 0
        assert hooks.run("task-prolog", {}).wait(END) == 0
    (hooks.folder / "cosched-hook").unlink()
    assert hooks.run("task-prolog", job).wait(END) == 0
    assert hooks.messages() == []


def test_a_socket_that_nobody_serves_any_more_is_replaced_and_another_services_is_not(hooks: Site) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(hooks.socket))
    with Service(hooks.socket):
        with pytest.raises(OSError, match="another process serves this socket"), Service(hooks.socket):
            pass
        with Peer(hooks.socket, b"gate\tjob=1\n") as peer:
            assert peer.rest() == b"open\n"
    assert not hooks.socket.exists()
    hooks.socket.write_text("precious")
    with pytest.raises(FileExistsError, match="not a socket"), Service(hooks.socket):
        pass
    assert hooks.socket.read_text() == "precious"


def test_a_hundred_hooks_wait_and_are_told_in_any_order(hooks: Site, service: Service) -> None:
    with ExitStack() as stack:
        peers = [stack.enter_context(Peer(hooks.socket, READY % job)) for job in range(1, 101)]
        wait_for(lambda: len(service.offers) == 100, "all offers")
        for job in range(100, 0, -1):
            assert service.start(job)
        assert [(peer.line(), peer.line()) for peer in peers] == 100 * [(b"parked\n", b"start\n")]


@pytest.mark.parametrize("steps", range(8))
async def test_a_hook_that_connects_as_the_server_closes_is_told_so(tmp_path: Path, steps: int) -> None:
    path = tmp_path / "s"
    said = dict.fromkeys(("on_offer", "on_withdrawn", "on_killed", "on_starting", "on_ended"), lambda *_: None)
    server = HookServer(path, slurm_user=os.geteuid(), **said)
    await server.open()
    with socket.socket(socket.AF_UNIX) as hook:
        hook.setblocking(False)
        hook.connect(str(path))
        for _ in range(steps):  # from the connection in the backlog to the one that is served
            await asyncio.sleep(0)
        await server.close()
        with suppress(ConnectionError):
            assert await asyncio.wait_for(asyncio.get_running_loop().sock_recv(hook, 1), END) == b""
