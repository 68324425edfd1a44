"""Fixtures for the tests of the adapters."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.adapters.machine import PATIENCE, ours


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A folder for a manager and its jobs; at the end of the test no process of theirs may be left."""
    yield tmp_path
    patience_over = time.monotonic() + PATIENCE
    while (left := ours(tmp_path)) and time.monotonic() < patience_over:
        time.sleep(0.05)
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert not left, "processes were left behind"


@pytest.fixture
def tireless(monkeypatch: pytest.MonkeyPatch) -> None:
    """No job is given up because its supervisors die: on a slow machine kills may come faster than one can start."""
    monkeypatch.setattr("cosched_adapters.local.follow.TRIES", 1000)
    monkeypatch.setattr("cosched_adapters.local.follow.PAUSE", 0.05)
