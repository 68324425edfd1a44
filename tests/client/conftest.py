"""A fake domain and clients of it."""

import pytest

from cosched.client import Client
from tests.client.fake_domain import serve


@pytest.fixture
def address(short_path, monkeypatch):
    """A Unix socket."""
    monkeypatch.setenv("COSCHED_SERVER", f"unix:{short_path}/socket")
    return f"unix:{short_path}/socket"


@pytest.fixture
def running(address):
    """A fake domain that serves at the address that COSCHED_SERVER names."""
    with serve(address) as running:
        yield running


@pytest.fixture
def domain(running):
    """Its lists and dictionaries."""
    return running.domain


@pytest.fixture
def client(running):
    with Client(running.address) as client:
        yield client
