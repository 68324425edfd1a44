"""Notices to a service manager, which is a datagram socket."""

import os
import socket
from pathlib import Path
from uuid import uuid4

import pytest

from cosched.service.systemd import notify, watchdog_interval


def listening(address: str, monkeypatch: pytest.MonkeyPatch) -> socket.socket:
    receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    receiver.settimeout(60)
    receiver.bind(address.replace("@", "\0", 1))
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    return receiver


@pytest.fixture(params=["path", "abstract"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "notify") if request.param == "path" else f"@cosched-{uuid4()}"


@pytest.mark.parametrize("state", ["READY=1", "STOPPING=1", "WATCHDOG=1", "STATUS=7 jobs, ü"])
def test_a_notice_arrives(address: str, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(address, monkeypatch) as receiver:
        assert notify(state)
        assert receiver.recv(1000).decode() == state


@pytest.mark.parametrize("value", [None, "", "vsock:2:1", "relative", "/no/such/socket", "/" + "x" * 300])
def test_without_a_service_manager_nothing_happens(value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    if value is not None:
        monkeypatch.setenv("NOTIFY_SOCKET", value)
    assert not notify("READY=1")


@pytest.mark.parametrize(
    ("microseconds", "process", "interval"),
    [
        (None, None, None), ("30000000", None, 15.0), ("30000000", "this", 15.0), ("30000000", "1", None),
        ("0", None, None), ("soon", None, None), ("30000000", "me", None),
    ],
)  # fmt: skip
def test_the_watchdog_wants_a_notice_twice_in_its_time(microseconds, process, interval, monkeypatch):
    for name, value in (("WATCHDOG_USEC", microseconds), ("WATCHDOG_PID", process)):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value.replace("this", str(os.getpid())))
    assert watchdog_interval() == interval
