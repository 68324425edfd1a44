"""Colours and progress, for those who look; plain text for the others."""

import os
import pty
import re
import subprocess
import threading

import pytest

from cosched.cli.output.terminal import Progress
from tests.cli.conftest import CONSOLE_SCRIPT, without_progress

ESCAPE = "\x1b["


@pytest.fixture
def on_terminal(tmp_path):
    """Run the command with some of its streams on a terminal: {name: what it wrote there}, and the other streams."""

    def run(*args, streams=("stdout", "stderr"), **environment):
        master, slave = pty.openpty()
        keep = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
        pipes = {stream: slave if stream in streams else subprocess.PIPE for stream in ("stdout", "stderr")}
        process = subprocess.Popen(
            [CONSOLE_SCRIPT, *args],
            cwd=tmp_path,
            env={**keep, "TERM": "xterm-256color", "COLUMNS": "80", **environment},
            **pipes,
        )
        os.close(slave)
        written = []
        reader = threading.Thread(target=_read, args=(master, written))
        reader.start()
        other = [text.decode() for text in process.communicate(timeout=600) if text is not None]
        reader.join(600)
        os.close(master)
        assert process.returncode == 0
        return b"".join(written).decode(), without_progress("".join(other))

    return run


def _read(master, written):
    try:
        while data := os.read(master, 65_536):
            written.append(data)
    except OSError:  # how a terminal says that its other end is closed
        pass


def test_progress_on_standard_error_only(on_terminal, logs):
    seen, data = on_terminal("replay", *logs, "--pair-window", "2m", "--compare", streams=("stderr",))
    assert "reading ..." in seen
    assert "schemes" not in seen
    assert ESCAPE not in data
    assert data.count("\n") == 12 + 1 + 3 + 8


def test_a_long_run_without_a_terminal_says_each_minute_what_it_does(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr("cosched.cli.output.terminal.SILENCE_S", 60)
    monkeypatch.setattr("cosched.cli.output.terminal.time.monotonic", lambda: now[0])
    doing = Progress(None)
    doing.step("replaying ...")
    for second in range(0, 200, 10):
        now[0] = second
        doing.go_on(f"{second // 2} %")
    assert capsys.readouterr().err.splitlines() == ["replaying: 30 %", "replaying: 60 %", "replaying: 90 %"]


def test_bold_headings_and_no_line_too_long(on_terminal, logs):
    seen, said = on_terminal("replay", *logs, "--pair-window", "2m", streams=("stdout",))
    assert said == ""
    assert f"{ESCAPE}1ma: 10 nodes" in seen
    assert max(len(re.sub(r"\x1b\[[\d;]*m", "", line)) for line in seen.splitlines()) <= 80


def test_messages_come_through_progress_and_without_colour_if_that_is_wanted(on_terminal, logs):
    seen, _ = on_terminal("replay", *logs[:2], "--domain", "c,trace=a.swf,nodes=7", NO_COLOR="1")
    assert "a.swf: left out 8 jobs: larger than the machine (first in line 2)\r\n" in seen
    assert not re.search(r"\x1b\[(?:[\d;]*;)?[349]\d[\d;]*m", seen)


@pytest.mark.usefixtures("logs")
def test_a_dumb_terminal(on_terminal):
    seen, _ = on_terminal("trace", "info", "a.swf", TERM="dumb")
    assert ESCAPE not in seen
