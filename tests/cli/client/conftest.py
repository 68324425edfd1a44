"""A fake domain for the commands, at the address that COSCHED_SERVER names."""

import time

import pytest

from tests.client.conftest import address, domain, running

__all__ = ["address", "domain", "running"]


@pytest.fixture
def utc(monkeypatch):
    """The user's time zone."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()
