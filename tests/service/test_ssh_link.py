"""The connection to a peer by ssh, with a program in the place of ssh: when it is tried again, and when it is dead."""

import asyncio
import os
import signal
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from cosched.cli.own_service import lives
from cosched.service.configuration_sections import Peer
from cosched.service.peers import ssh_link
from cosched.service.peers.ssh_link import SshLink
from cosched.sockets import ssh, streams
from cosched.sockets.hello import STREAM, HelloError, written
from cosched.sockets.ssh import SshStream
from cosched.sockets.streams import StreamError, Streams
from tests.waiting import until

GREETING = written({"domain": "eureka", "user": "ann"}).decode()
REFUSED = "echo 'ann@login.eureka: Permission denied (publickey).' >&2; exit 255"


@pytest.fixture
def as_ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Put a shell script in the place of ssh; its file, to write others."""

    def put(script: str) -> Path:
        program = tmp_path / "ssh"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o700)
        monkeypatch.setenv("COSCHED_SSH", str(program))
        return program

    return put


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between attempts, which pass at once."""
    found, sleep = [], asyncio.sleep

    async def pause(seconds: float):
        if seconds < ssh_link.SHORTEST or seconds == streams.BEAT:  # not one of the link's
            await sleep(seconds)
        else:
            found.append(seconds)
            await sleep(0)

    monkeypatch.setattr(ssh_link.asyncio, "sleep", pause)
    return found


def peer_in(folder: Path) -> Peer:
    return Peer(name="eureka", address=f"unix:{folder}/out", socket=folder / "in", ssh="login.eureka")


async def test_a_peer_is_tried_many_times_within_its_grace(as_ssh, pauses, tmp_path):
    as_ssh(REFUSED)
    link = SshLink("intrepid", peer_in(tmp_path), 80, pytest.fail)
    await until(lambda: len(pauses) > 4)
    await link.close()
    assert pauses[:5] == [2, 4, 8, 10, 10]


async def test_a_connection_that_stood_is_brought_back_at_once(as_ssh, pauses, tmp_path, monkeypatch):
    monkeypatch.setattr(ssh_link, "STOOD", 0)
    as_ssh(f"head -n 1 > /dev/null; echo '{GREETING.strip()}'")
    link = SshLink("intrepid", peer_in(tmp_path), 80, pytest.fail)
    await until(lambda: len(pauses) > 2)
    await link.close()
    assert set(pauses) == {ssh_link.SHORTEST}


@pytest.mark.parametrize(
    ("there", "said"),
    [
        (REFUSED, "set up a key without a prompt, so that ssh -o BatchMode=yes login.eureka true works"),
        (
            """echo '{"cosched_stream": 1, "domain": "eureka", "user": "ann"}'""",
            f"it speaks version 1 of these streams, and this host {STREAM}: update the older one",
        ),
        (
            "echo \"cosched: no command is called 'peer-stream'\" >&2; exit 2",
            "cosched: no command is called 'peer-stream': update cosched there",
        ),
        ("echo 'sh: 1: cosched: not found' >&2; exit 127", "install cosched there (pip install --user coscheduling)"),
        ("yes Welcome", "let its shell's start-up files print nothing"),
    ],
    ids=["no key", "another version", "an old version", "no cosched", "a talkative shell"],
)
async def test_why_a_login_leads_to_no_service_is_one_line_with_the_remedy(as_ssh, there, said):
    as_ssh(there)
    with pytest.raises(HelloError) as refused:
        await SshStream("login.eureka").open({"domain": "intrepid", "user": "ann"})
    assert str(refused.value).endswith(said)
    assert "\n" not in str(refused.value)


async def test_a_silent_stream_is_dead(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "SILENT", 0.05)
    async with joined(tmp_path) as (here, _):
        with pytest.raises(StreamError, match=r"nothing has come for .* s: ssh, or the network, hangs"):
            await Streams(*here, _refused, first=True).join(tmp_path / "out")


async def test_an_end_that_has_nothing_to_say_shows_that_it_lives(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "BEAT", 0.001)
    async with joined(tmp_path) as (here, (reader, writer)):
        stream = asyncio.create_task(Streams(*here, _refused, first=True).join(tmp_path / "out"))
        assert await reader.readexactly(3 * 9) == 3 * b"\0\0\0\0\3\0\0\0\0"
        writer.write(b"\0\0\0\0\3\0\0\0\0")  # which it takes
        writer.close()
        await stream


async def test_an_ssh_that_is_stopped_is_killed(as_ssh, monkeypatch):
    monkeypatch.setattr(ssh, "_ENDING", 0.1)
    as_ssh(f"echo '{GREETING.strip()}'; kill -STOP $$")
    stream = SshStream("login.eureka")
    await stream.open({"domain": "intrepid", "user": "ann"})
    process = stream._process.pid
    await until(lambda: Path(f"/proc/{process}/stat").read_text().split()[2] == "T")
    await stream.close()
    assert not lives(process)
    assert stream._process.returncode == -signal.SIGKILL


async def test_a_link_that_is_closed_while_it_logs_in_leaves_no_ssh(as_ssh, tmp_path):
    as_ssh(f"echo $$ > {tmp_path}/pid; exec sleep 60")
    link, pid = SshLink("intrepid", peer_in(tmp_path), 80, pytest.fail), tmp_path / "pid"
    await until(lambda: pid.exists() and pid.read_text().strip())
    await link.close()
    assert not lives(int(pid.read_text()))


async def _refused():
    raise OSError(os.strerror(2))


@asynccontextmanager
async def joined(folder: Path):
    """Yield both ends of a connection."""
    arrived: asyncio.Queue = asyncio.Queue()
    server = await asyncio.start_unix_server(lambda *end: arrived.put_nowait(end), folder / "joined")
    here = await asyncio.open_unix_connection(folder / "joined")
    there = await arrived.get()
    try:
        yield here, there
    finally:
        server.close()
        for _, writer in (here, there):
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
