"""How commands end that reach nobody, or the wrong one; and what they need."""

import grpc
import pytest

from cosched.service.wire.errors import Refusal
from tests.cli.test_cost import HEAVY, run_by

COMMANDS = [
    ("queue",), ("pairs",), ("show", "17"), ("nodes",), ("domains",), ("cancel", "17"), ("link", "17", "eureka:3"),
    ("unlink", "17"), ("release", "17"), ("watch",),
]  # fmt: skip


@pytest.fixture
def _impatient(monkeypatch):
    monkeypatch.setattr("cosched.client.client.CALL_PAUSES", ())


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize("command", COMMANDS)
def test_nobody_there(refused, command):
    assert refused(*command, "--server", "unix:none", exit_code=3).startswith("unix:none cannot be reached: ")


def test_nobody_there_for_the_installed_command(console, tmp_path):
    (tmp_path / "job.sh").write_text("#!/bin/sh\n")
    result = console("submit", "--server", "127.0.0.1:1", "job.sh")
    assert (result.returncode, result.stdout) == (3, "")
    assert result.stderr.startswith("cosched: 127.0.0.1:1 cannot be reached: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize(
    ("status", "reason", "message", "exit_code"),
    [
        ("UNAVAILABLE", "STARTING", "the domain is starting", 3),
        ("PERMISSION_DENIED", "NOT_OWNER", "\x1b[2Jno", 1),
        ("NOT_FOUND", "DOMAIN_NOT_FOUND", "no domain eurka; did you mean eureka?", 2),
    ],
)
def test_a_refusal_is_told_and_cannot_steer_the_terminal(refused, domain, status, reason, message, exit_code):
    domain.failures = [Refusal(grpc.StatusCode[status], reason, message)]
    assert refused("queue", exit_code=exit_code) == message.replace("\x1b", r"\x1b")


@pytest.mark.parametrize(
    ("field", "problem", "said"),
    [
        ("expected", "is at most 7 d", "--for: is at most 7 d"),
        ("group.at", "2020-01-01 00:00:00 UTC is 6 y ago", "--at: 2020-01-01 00:00:00 UTC is 6 y ago"),
        ("nodelist", "is for others", "--nodelist: is for others"),
        ("page_token", "is not one that was given", "page_token: is not one that was given"),
    ],
)
def test_a_field_that_is_refused_is_called_as_the_option_that_gives_it(refused, domain, field, problem, said):
    refusal = grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", f"{field}: {problem}", {"field": field}
    domain.failures = [Refusal(*refusal)]
    assert refused("queue", exit_code=1) == said


def test_no_server_named(refused, monkeypatch):
    monkeypatch.delenv("COSCHED_SERVER", raising=False)
    assert refused("queue").startswith("--server: no domain is named, and none is served on this host: ")


def test_a_certificate_that_is_not_there(refused, monkeypatch):
    monkeypatch.setenv("COSCHED_CA", "none.pem")
    assert refused("queue", "--server", "localhost:1", exit_code=1) == "none.pem: No such file or directory"


def test_the_flag_wins_over_the_environment(cosched, domain, address, monkeypatch):
    assert domain.jobs == {}
    monkeypatch.setenv("COSCHED_SERVER", "unix:none")
    cosched("queue", "--server", address)


@pytest.mark.usefixtures("domain")
@pytest.mark.parametrize("command", ["queue", "domains"])
def test_a_command_needs_nothing_heavy(command):
    loaded, _ = run_by(command)
    assert "cosched.client.client" in loaded
    assert not loaded & (HEAVY | {"sqlite3"})
