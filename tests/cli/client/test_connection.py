"""How commands end that reach nobody, or the wrong one; and what they need."""

import subprocess
import sys

import grpc
import pytest

from cosched.service.wire.errors import Refusal

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
    said = refused(*command, "--server", "unix:none", exit_code=3)
    assert said.startswith("unix:none cannot be reached: ")


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
    assert refused("queue") == (
        "--server: no domain is named, and none is served on this host: set COSCHED_SERVER to unix:PATH or HOST:PORT, "
        "or have a service of your own: cosched up"
    )


def test_an_address_that_is_none(refused):
    assert refused("queue", "--server", "eureka") == "--server: 'eureka' is neither unix:PATH nor HOST:PORT"


def test_a_certificate_that_is_not_there(refused, monkeypatch):
    monkeypatch.setenv("COSCHED_CA", "none.pem")
    assert refused("queue", "--server", "localhost:1", exit_code=1) == "none.pem: No such file or directory"


def test_the_flag_wins_over_the_environment(cosched, domain, address, monkeypatch):
    assert domain.jobs == {}
    monkeypatch.setenv("COSCHED_SERVER", "unix:none")
    cosched("queue", "--server", address)


@pytest.mark.parametrize("command", [*COMMANDS, ("submit", "job.sh")])
def test_help(cosched, command):
    result = cosched(command[0], "-h")
    assert result.stdout.startswith(f"Usage: cosched {command[0]} ")
    assert max(map(len, result.stdout.splitlines())) <= 80


@pytest.mark.usefixtures("domain")
@pytest.mark.parametrize("command", ["queue", "domains"])
def test_a_command_needs_nothing_heavy(command):
    code = (
        "import sys; from cosched.cli.main import main;"
        f"main(['{command}'], standalone_mode=False);"
        "print(*{'numpy', 'numba', 'polars', 'pydantic', 'rich', 'sqlite3'} & sys.modules.keys(), file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600)
    assert run.stderr.strip() == ""


@pytest.mark.usefixtures("domain")
def test_a_full_disk_is_said(console):
    with open("/dev/full", "w") as full:
        result = console("queue", capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert (result.returncode, result.stderr) == (1, "cosched: standard output: No space left on device\n")
