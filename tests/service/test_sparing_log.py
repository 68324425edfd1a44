"""What others can cause at will makes one line a minute, with its number."""

import logging

import pytest

from cosched.sockets import sparing_log
from cosched.sockets.sparing_log import SparingLog
from tests.logged import logged


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the log takes for the time, in seconds."""
    now = [1000.0]
    monkeypatch.setattr(sparing_log.time, "monotonic", lambda: now[0])
    return now


def test_a_subject_has_a_line_a_minute_with_its_number(caplog: pytest.LogCaptureFixture, clock: list[float]) -> None:
    log = SparingLog(logging.getLogger("test"))
    for _ in range(3):
        log.warning("ann", "%s is refused", "ann")
        log.warning("bob", "%s is refused", "bob")
    log.tidy()
    assert logged(caplog) == ["ann is refused", "bob is refused"]
    clock[0] += 60
    log.warning("ann", "%s is refused", "ann")
    log.tidy()
    log.tidy()
    assert logged(caplog)[2:] == ["ann is refused (and 2 times before)", "bob is refused (and 2 times since)"]
    clock[0] += 60
    log.tidy()
    assert len(logged(caplog)) == 4
    log.warning("ann", "%s is refused", "ann")
    assert logged(caplog)[4:] == ["ann is refused"]


def test_many_subjects_take_little_memory(caplog: pytest.LogCaptureFixture, clock: list[float]) -> None:
    log = SparingLog(logging.getLogger("test"))
    for number in range(3000):
        log.warning(number, "number %d", number)
    assert len(logged(caplog)) == len(log._said) == 1000
    clock[0] += 60
    log.warning("new", "another")
    assert len(log._said) == 1
