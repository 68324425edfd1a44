"""Completion in shells: by the protocol of each, and by the Tab key where a shell is installed."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.live.services import COMMAND, PATIENCE

BEFORE = {  # how each shell asks, with the cursor after `cosched WORDS`
    "bash": lambda words: {"COMP_WORDS": f"cosched {words}", "COMP_CWORD": str(len(words.split()))},
    "zsh": lambda words: {"COMP_WORDS": f"cosched {words}", "COMP_CWORD": str(len(words.split()))},
    "fish": lambda words: {"COMP_WORDS": f"cosched {words}", "COMP_CWORD": words.split()[-1]},
}


def _installed(shell: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"{shell} is not installed")


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=PATIENCE, env={**os.environ, **environment}
    )


@pytest.mark.parametrize("shell", BEFORE)
@pytest.mark.parametrize(
    ("words", "expected"), [("sub", "submit"), ("submit --or", "--or-alone"), ("study ref", "reference")]
)
def test_names_and_options_are_completed(shell, words, expected):
    done = run(_COSCHED_COMPLETE=f"{shell}_complete", **BEFORE[shell](words))
    assert expected in done.stdout.replace(",", "\n").replace("\t", "\n").split("\n"), done.stdout + done.stderr


@pytest.mark.parametrize("shell", BEFORE)
def test_what_the_shell_reads(shell):
    assert f"_COSCHED_COMPLETE={shell}_complete" in run("completion", shell).stdout


READS = {  # each without the user's own settings, and what it is told first
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source {script}"),
    "zsh": (["zsh", "-f", "-i"], "autoload -U compinit; compinit -u -D; source {script}"),
    "fish": (["fish", "--no-config", "-i"], "source {script}"),
}


@pytest.mark.parametrize("shell", [pytest.param(name, marks=_installed(name)) for name in READS])
def test_the_tab_key_completes(shell, tmp_path):
    command, first = READS[shell]
    script = tmp_path / "completion"
    script.write_text(run("completion", shell).stdout)
    typed = f"{first.format(script=script)}\ncosched sub\t-h\nexit\n"
    assert "Usage: cosched submit" in said_to(command, typed, tmp_path)


def said_to(command: list[str], typed: str, home: Path) -> str:
    """What a shell shows on a terminal of its own, until it ends."""
    path = f"{Path(COMMAND[0]).parent}:{os.environ['PATH']}"
    keyboard, terminal = pty.openpty()
    environment = {**os.environ, "PATH": path, "HOME": str(home), "TERM": "xterm"}
    with subprocess.Popen(
        ["setsid", "--ctty", *command], stdin=terminal, stdout=terminal, stderr=terminal, env=environment
    ) as process:
        os.close(terminal)
        os.write(keyboard, typed.encode())
        shown = b""
        while part := _read(keyboard):
            shown += part
        assert process.wait(PATIENCE) == 0, shown
    os.close(keyboard)
    return shown.decode()


def _read(keyboard: int) -> bytes:
    try:
        return os.read(keyboard, 65536)
    except OSError:  # nobody has the terminal any more
        return b""
