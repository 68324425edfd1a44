"""Gates on nodes that do not see the folder of their files: bash, over TCP, and who does not know the key."""

import asyncio
import fcntl
import subprocess
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cosched_adapters.own.gate_relay import GateRelay, key_in
from cosched_adapters.own.gate_script import gated, over_tcp
from cosched_adapters.slurm.gates import WORDS
from tests.adapters.own.test_gate_script import Gate
from tests.waiting import PATIENCE, until

SCRIPT = b'#!/bin/bash\necho "$COSCHED_MATES|$HOME"\n'
READY = "0 ready nodes=2 nodelist=n[1-2] locked\n"


@pytest.fixture
async def relay(tmp_path: Path) -> AsyncIterator[GateRelay]:
    (tmp_path / "seen").mkdir()
    relay = GateRelay(tmp_path / "seen", 0)
    await relay.open()
    yield relay
    await relay.close()


@pytest.fixture
def told(tmp_path: Path):
    """What the file of job 12 says."""
    path = tmp_path / "seen" / "12.told"
    return lambda: path.read_text() if path.exists() else ""


def start(folder: Path, port: int, key: bytes, patience: int = round(PATIENCE)) -> subprocess.Popen[str]:
    gate = Gate(folder)
    gate.file.write_bytes(gated(SCRIPT, folder / "unseen", WORDS, patience, tcp=over_tcp("127.0.0.1", port, key)))
    return gate.start()


def is_locked(path: Path) -> bool:
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


async def test_a_gate_without_the_folder_waits_and_starts_as_with_it(relay, tmp_path, told):
    job = start(tmp_path, relay.port, key_in(tmp_path / "seen"))
    await until(lambda: told() == READY)
    assert is_locked(tmp_path / "seen" / "12.told")
    at = time.time() + 1.0
    (tmp_path / "seen" / "12.answer").write_text("0 parked 1\n")
    (tmp_path / "seen" / "12.answer").write_text(
        f'0 start {at:.6f} {time.time():.6f}\nCOSCHED_MATES=[{{"a": "b c"}}]\nHOME=/nowhere\n'
    )
    printed, said = await asyncio.to_thread(job.communicate, "")
    assert time.time() >= at
    assert (job.returncode, said) == (0, "")
    assert printed.startswith('[{"a": "b c"}]|/')
    assert "/nowhere" not in printed
    assert told() == f"{READY}0 starting\n"


async def test_a_gate_that_dies_and_one_whose_connection_is_cut(relay, tmp_path, told):
    path = tmp_path / "seen" / "12.told"
    with start(tmp_path, relay.port, key_in(tmp_path / "seen")) as job:
        await until(lambda: told() == READY)
        for task in relay._connections:
            task.cancel()
        await until(lambda: told() == 2 * READY)  # it has come again
        assert is_locked(path)
        job.kill()
        await until(lambda: not is_locked(path))
    assert told() == 2 * READY


async def test_who_does_not_know_the_key_is_not_heard_and_not_believed(relay, tmp_path, told):
    with start(tmp_path, relay.port, bytes(32), patience=2) as job:
        _, said = await asyncio.to_thread(job.communicate, "")
    assert told() == ""
    assert said.endswith(f"nor has the service answered at 127.0.0.1:{relay.port} for 2 s\n")
    assert job.returncode == 0


def test_the_key_is_the_users_alone(tmp_path):
    key = key_in(tmp_path)
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert len(key) == 32
    assert key_in(tmp_path) == key
