"""Logs as a process of its own writes them."""

import json
import os
import pty
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.service.logs.log_fields import HIDDEN, bounded, printable, without_secrets

PRELUDE = """
import logging, warnings, structlog
from cosched.service.logs.logs import configure_logs
configure_logs({level!r}, "intrepid")
log = structlog.get_logger("cosched.test")
"""


def logged(program: str, level: str = "info", **environment: str) -> list[dict[str, Any]]:
    """The lines that a program writes to a standard error that is no terminal."""
    script = PRELUDE.format(level=level) + textwrap.dedent(program)
    variables = {name: value for name, value in os.environ.items() if name != "JOURNAL_STREAM"} | environment
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=variables, check=True)
    assert done.stdout == ""
    return [json.loads(line) for line in done.stderr.splitlines()]


def on_terminal(program: str, **environment: str) -> str:
    """What it writes to a terminal."""
    ours, theirs = pty.openpty()
    script = PRELUDE.format(level="info") + textwrap.dedent(program)
    subprocess.run([sys.executable, "-c", script], stderr=theirs, env=os.environ | environment, check=True)
    os.close(theirs)
    written = b""
    try:
        while data := os.read(ours, 65536):
            written += data
    except OSError:  # all was read
        pass
    os.close(ours)
    return written.decode().replace("\r\n", "\n")


def test_a_line_is_one_json_object_whoever_wrote_it() -> None:
    ours, theirs, warning, error = logged("""
        log.info("job started", job="7", nodes=4)
        logging.getLogger("cosched_adapters.local").warning("no room for %s", "job 8")
        warnings.warn("old", UserWarning)
        try:
            1 // 0
        except ZeroDivisionError:
            logging.getLogger("x").exception("it failed")
    """)
    assert next(iter(ours)) == "timestamp"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", ours.pop("timestamp"))
    assert ours == {
        "event": "job started", "level": "info", "logger": "cosched.test", "domain": "intrepid", "job": "7",
        "nodes": 4,
    }  # fmt: skip
    assert theirs["event"] == "no room for job 8"
    assert (theirs["level"], theirs["logger"]) == ("warning", "cosched_adapters.local")
    assert "UserWarning: old" in warning["event"]
    assert error["exception"].endswith("ZeroDivisionError: integer division or modulo by zero")


def test_the_level_is_kept_to_and_chatty_libraries_are_quiet() -> None:
    program = """
        log.debug("a")
        log.info("b")
        log.warning("c")
        logging.getLogger("apscheduler.scheduler").info("d")
        logging.getLogger("grpc._cython").warning("e")
    """
    assert [line["event"] for line in logged(program, "debug")] == ["a", "b", "c", "e"]
    assert [line["event"] for line in logged(program, "warning")] == ["c", "e"]
    assert logged(program, "error") == []


def test_configuring_again_replaces_what_was() -> None:
    (line,) = logged("""
        configure_logs("info", "eureka")
        log.info("once")
    """)
    assert line["domain"] == "eureka"


def test_the_journal_gets_no_time_stamps(tmp_path: Path) -> None:
    status = os.stat("/dev/null")
    program = "log.info('x')"
    assert "timestamp" in logged(program, JOURNAL_STREAM=f"{status.st_dev}:{status.st_ino}")[0]
    journal = tmp_path / "journal"
    with journal.open("w") as stderr:
        where = os.fstat(stderr.fileno())
        script = PRELUDE.format(level="info") + program
        variables = os.environ | {"JOURNAL_STREAM": f"{where.st_dev}:{where.st_ino}"}
        subprocess.run([sys.executable, "-c", script], stderr=stderr, env=variables, check=True)
    assert "timestamp" not in json.loads(journal.read_text())


def test_on_a_terminal_lines_are_for_people_and_cannot_steer_it() -> None:
    text = on_terminal(
        r"""
        log.info("job\nstarted", who="\x1b]0;title\x07\x1b[2J", token="hush", detail={"a": "\x1b"})
        try:
            1 // 0
        except ZeroDivisionError:
            log.exception("it failed")
        """,
        NO_COLOR="1",
    )
    assert "job\\nstarted" in text
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "hush" not in text
    assert "\nZeroDivisionError: integer division" in text
    assert "\x1b[" in on_terminal("log.info('x')", NO_COLOR="")


def test_what_cannot_be_shown_keeps_no_line_from_being_logged() -> None:
    (line,) = logged("""
        class Odd:
            def __str__(self):
                raise RuntimeError("no")
        log.info("odd", odd=Odd(), bytes=b"secret", nan=float("nan"), large=10**5000, surrogate="\\ud800")
    """)
    assert line["odd"] == "[Odd: RuntimeError]"
    assert (line["bytes"], line["nan"], line["large"]) == ("[6 bytes]", "nan", "[a large number]")


def test_hostile_fields_do_not_make_a_line_long() -> None:
    for line in logged("""
        logging.getLogger("x").info("y" * 10_000_000)
        log.info("many", **{f"field{i}": "z" * 100_000 for i in range(500)})
        log.info("deep", table={str(i): {str(j): ["x" * 5000] * 500 for j in range(500)} for i in range(60)})
        try:
            raise ValueError("v" * 1_000_000)
        except ValueError:
            log.exception("failed")
    """):
        assert len(json.dumps(line)) < 100_000
        assert line["level"] in ("info", "error")


def processed(**fields: Any) -> Any:
    return bounded(None, "", without_secrets(None, "", fields))


@pytest.mark.parametrize(
    "key",
    [
        *("environment", "env", "script", "token", "key", "password", "api_key", "private-key", "Authorization"),
        *("accessToken", "TOKENS", "job.script", "tls_key_password", "secret", "passphrase", "credentials"),
    ],
)
def test_what_may_be_secret_is_hidden_however_deep(key: str) -> None:
    assert processed(**{key: "hush"}) == {key: HIDDEN}
    assert "hush" not in str(processed(request={"job": [{key: {"A": "hush"}}]}))
    assert "hush" not in str(processed(request=[[[[{"a": {key: "hush"}}]]]]))


@pytest.mark.parametrize("key", ["description", "monkey", "keyboard", "event", "subscript", "keyed"])
def test_what_only_looks_alike_is_shown(key: str) -> None:
    assert processed(**{key: "shown"}) == {key: "shown"}


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=10,
)


@settings(max_examples=50)
@given(st.dictionaries(st.text(), ANYTHING, max_size=5))
def test_any_fields_become_one_bounded_line(fields: dict[str, Any]) -> None:
    line = json.dumps(processed(**fields), allow_nan=False)
    assert "\n" not in line
    assert len(line) < 300_000
    assert all(str(value).isprintable() for value in printable(None, "", processed(**fields)).values())
