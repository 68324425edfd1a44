"""Disks that fail under the databases of services, for a while, while these go on and are started when they end."""

from __future__ import annotations

import random
import shutil
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.live.kill_campaign import PatientClient, Seen
from tests.live.services import COMMAND, Federation, Service

SOURCE = Path(__file__).with_name("broken_disk.c")
KINDS = ("w", "s", "ws")  # writes, synchronisations, both: see broken_disk.c
LONGEST = 2.0  # seconds that a disk fails
LOOK_EVERY = 0.1  # seconds between two looks at which services have ended


def build_shim(folder: Path) -> Path:
    """Compile broken_disk.c; the test is skipped where there is no C compiler."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler (cc)")
    library = folder / "broken_disk.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)
    return library


def may_fail(domains: Federation, shim: Path) -> None:
    """From the next start on the disks of these services may fail."""
    for service in domains.services:
        preload(service, shim, FAILING_DATABASE=str(_told(service)))


def preload(service: Service, shim: Path, **environment: str) -> None:
    service.wrapper = COMMAND  # a library is preloaded where a command starts, not where a process is forked
    service.environment.update(LD_PRELOAD=str(shim), **environment)


def _told(service: Service) -> Path:
    return service.folder / "failing"


def disks_fail(services: Sequence[Service], chance: random.Random, seen: Seen) -> None:
    """Disks fail, and are well again; then each service puts a job on record, after it was started again perhaps."""
    for service in services:
        _told(service).write_text(chance.choice(KINDS))
    threading.Event().wait(chance.uniform(0, LONGEST))
    for service in services:
        _told(service).unlink()
    for service in services:
        with PatientClient(service) as client:
            seen.jobs[service.name].append(client.submit("#!/bin/sh\n").id)
    seen.kills += len(services)


@contextmanager
def started_again(domains: Federation) -> Iterator[list[int]]:
    """In this block services that end are started again, as by systemd; the codes with which they have ended."""
    codes: list[int] = []
    over = threading.Event()

    def watch() -> None:
        while not over.wait(LOOK_EVERY):
            for service in domains.services:
                if service.process is not None and (code := service.process.poll()) is not None:
                    codes.append(code)
                    service.start(wait=False)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield codes
    finally:
        over.set()
        thread.join()
