"""A service that compiles its scheduler first: whoever asks is told so, and no job starts alone meanwhile."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TextIO

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from cosched.client import Unreachable
from cosched.core.scheduling.batch.warming import use_kernels
from cosched.installation.compilation import _set
from tests.live.services import COMMAND, Pair, Service, noted, script_that_notes, wait_until
from tests.live.test_peer_grace import text

WAITS = "is starting: waiting for another process, which compiles the same kernels (batch)"


class Cache(NamedTuple):
    """A cache, locked by this process."""

    folder: Path
    lock: TextIO

    def fill(self) -> None:
        """Have its kernels as this host's own cache has them, and unlock it."""
        for source in Path(os.environ["NUMBA_CACHE_DIR"]).iterdir():
            if source.is_dir():
                shutil.copytree(source, self.folder / source.name, dirs_exist_ok=True)
        self.lock.close()


@pytest.fixture
def compiling(tmp_path) -> Iterator[Callable[[Service], Cache]]:
    """Has a service find a cache without kernels, which another process is about to fill."""
    made = []

    def hold(service: Service) -> Cache:
        folder = tmp_path / "cache" / "cosched" / Path(os.environ["NUMBA_CACHE_DIR"]).name
        folder.mkdir(parents=True)
        service.wrapper = COMMAND
        service.environment["XDG_CACHE_HOME"] = str(tmp_path / "cache")
        made.append(Cache(folder, (folder / f"{_set(use_kernels)}.lock").open("w")))
        fcntl.flock(made[-1].lock, fcntl.LOCK_EX)
        return made[-1]

    yield hold
    for cache in made:
        cache.lock.close()


def health(service: Service) -> int:
    with grpc.insecure_channel(service.socket) as channel:
        return health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest()).status


def test_a_service_that_starts_says_so_and_no_mate_starts_alone(make_pair, compiling, tmp_path):
    pair: Pair = make_pair(scheme="hold", release_interval="10m", peer_patience="1s")
    cache = compiling(pair.b)
    pair.a.start()
    pair.b.start(wait=False)
    wait_until(lambda: "which compiles the same kernels" in pair.b.log, "the log says so")
    assert "starting cosched" in pair.b.log.splitlines()[0]
    with pair.b.client(timeout=30.0) as b, pytest.raises(Unreachable) as raised:
        b.domain()
    assert raised.value.reason == "STARTING"
    (pair.folder / "job.sh").write_text("#!/bin/sh\n")
    for command in (["domains"], ["submit", "job.sh"]):
        told = pair.b.run(*command)
        assert (told.returncode, told.stdout) == (3, "")
        assert told.stderr.startswith(f"cosched: b {WAITS}")
    assert health(pair.b) == health_pb2.HealthCheckResponse.NOT_SERVING
    script = script_that_notes(tmp_path)
    with pair.a.client() as a:
        first = a.submit(script, pair="climate", pair_domain="b")
        wait_until(lambda: WAITS in a.domain().peers[0].problem, "its peer is asked, and starts")
        wait_until(lambda: a.job(first.id).reason == "PeerBusy", "the job waits")
        cache.fill()
        wait_until(pair.b.is_serving)
        with pair.b.client() as b:
            second = b.submit(script, pair="climate", pair_domain="a")
            wait_until(lambda: a.job(first.id).state == b.job(second.id).state == "completed")
        assert "cannot be reached" not in text(a, first)
    assert len(noted(tmp_path)) == 2
    assert pair.b.stop() == 0


def test_a_service_that_compiles_can_be_stopped(make_service, compiling):
    service: Service = make_service("a")
    compiling(service)
    service.start(wait=False)
    wait_until(lambda: "which compiles the same kernels" in service.log)
    assert service.stop() == 0
    assert not (service.folder / "sock").exists()
