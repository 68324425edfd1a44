"""A fake domain and clients of it."""

import shutil
import tempfile
from pathlib import Path

import pytest

from cosched.client import Client
from tests.client.fake_domain import serve


@pytest.fixture
def address(monkeypatch):
    """A Unix socket; its path is short, as the system wants."""
    folder = tempfile.mkdtemp(prefix="cosched-")
    address = f"unix:{Path(folder) / 'socket'}"
    monkeypatch.setenv("COSCHED_SERVER", address)
    yield address
    shutil.rmtree(folder)


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
    """A client of the fake domain."""
    with Client(running.address) as client:
        yield client
