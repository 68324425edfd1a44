"""Texts of a domain's configuration file, the least and the most that it may say, and how they are read."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cosched.service.configuration import Configuration, read_configuration
from cosched.words.errors import InputError

DOMAIN = """
[domain]
name = "intrepid"
listen = "127.0.0.1:7701"
state = "intrepid.db"
"""
PLAIN = f"""{DOMAIN}
plaintext = true
[manager]
kind = "local"
"""
PAGE = PLAIN.replace("plaintext", 'http = "127.0.0.1:0"\nplaintext') + "[page]\n"
SECURE = f"""{DOMAIN}
[tls]
ca = "ca.pem"
certificate = "certificate.pem"
key = "key.pem"
[manager]
kind = "local"
"""
PEER = '[[peer]]\nname = "eureka"\naddress = "127.0.0.1:7702"\nidentity = "spiffe://site/cosched/eureka"\n'

Read = Callable[[str], Configuration]
Refusal = Callable[[str], str]
FULL = f"""{SECURE}
policy = "fcfs"
backfill = "conservative"
node_pool = "partitioned:4x2"
slots = 8
token = "hush"
[coscheduling]
enabled = true
scheme = "yield"
release_interval = "90s"
release_jitter = 0.1
release_order = "last"
max_held_fraction = 0.25
max_yields = 3
yield_boost = 0.2
on_peer_unreachable = "hold"
mate_patience = "1w"
default_peer = "mira"
on_mate_unknown = "start"
peer_timeout = 0.5
peer_patience = "1m"
peer_grace = "3m"
hold_check = 10
successor_patience = "4m"
successor_hold = 30
on_member_requeued = "requeue"
max_requeues = 2
heartbeat_interval = 5
max_clock_offset = 0.02
{PEER}owners = {{ alice = "asmith" }}
[[peer]]
name = "mira"
address = "mira.example.org:7701"
identity = "spiffe://site/cosched/mira"
"""


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    """Reads a text as the file etc/d.toml, from the folder above it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "etc").mkdir()
    for name in ("ca", "certificate", "key"):
        (tmp_path / "etc" / f"{name}.pem").touch(mode=0o600)

    def configuration(text: str) -> Configuration:
        (tmp_path / "etc" / "d.toml").write_text(text)
        return read_configuration("etc/d.toml")

    return configuration


@pytest.fixture
def refusal(read: Read) -> Refusal:
    """What is said of a text, without the file's name."""

    def reason(text: str) -> str:
        with pytest.raises(InputError) as caught:
            read(text)
        line = str(caught.value)
        assert "\n" not in line
        assert line.startswith("etc/d.toml:")
        return line.removeprefix("etc/d.toml:")

    return reason


def with_line(text: str, section: str, line: str) -> str:
    return text.replace(f"{section}\n", f"{section}\n{line}\n", 1)
