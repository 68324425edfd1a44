"""Completion in shells: by the protocol of each, and by the Tab key where a shell is installed."""

import os
import pty
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.live.services import COMMAND, PATIENCE


def _installed(shell: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"{shell} is not installed")


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=PATIENCE, env={**os.environ, **environment}
    )


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("words", "expected"), [("sub", "submit"), ("submit --or", "--or-alone"), ("certs iss", "issue")]
)
def test_names_and_options_are_completed(shell, words, expected):
    cursor = words.split()[-1] if shell == "fish" else str(len(words.split()))  # after the words
    done = run(_COSCHED_COMPLETE=f"{shell}_complete", COMP_WORDS=f"cosched {words}", COMP_CWORD=cursor)
    assert expected in done.stdout.replace(",", "\n").replace("\t", "\n").split("\n"), done.stdout + done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_what_the_shell_reads(shell):
    assert f"_COSCHED_COMPLETE={shell}_complete" in run("completion", shell).stdout


PAGE = (Path(__file__).parents[2] / "docs/installing.md").read_text()
SHELLS = {  # how each is started, and what it is told first
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source {script}"),  # as its package for completions does
    "zsh": (["zsh", "-i"], ""),
    "fish": (["fish", "-i"], ""),
}


@pytest.mark.parametrize("shell", [pytest.param(name, marks=_installed(name)) for name in SHELLS])
def test_the_tab_key_completes_once_the_page_s_commands_have_run(shell, tmp_path):
    command, first = SHELLS[shell]
    script = install(shell, tmp_path)
    typed = f"{first.format(script=script)}\ncosched sub\t-h\nexit\n"
    assert "Usage: cosched submit" in said_to(command, typed, environment(tmp_path))


def install(shell: str, home: Path) -> Path:
    """What the page says for this shell, for a user with this home; the file that the shell reads."""
    line, target = re.search(rf"^    (cosched completion {shell} > (\S+))$", PAGE, re.MULTILINE).groups()
    script = home / target.removeprefix("~/")
    script.parent.mkdir(parents=True)
    # Without this folder fish reads all manual pages first, and keeps the terminal open until it has.
    (home / ".local/share/fish/generated_completions").mkdir(parents=True)
    (home / ".zshrc").write_text("".join(re.findall(r"^    ((?:fpath|autoload).*\n)", PAGE, re.MULTILINE)))
    subprocess.run(["sh", "-c", line], env=environment(home), check=True)
    return script


def environment(home: Path) -> dict[str, str]:
    """A user's who has nothing but this home, and the command in the path."""
    return {"PATH": f"{Path(COMMAND[0]).parent}:{os.environ['PATH']}", "HOME": str(home), "TERM": "xterm"}


def said_to(command: list[str], typed: str, env: dict[str, str]) -> str:
    """What a shell shows on a terminal of its own, until it ends."""
    keyboard, terminal = pty.openpty()
    with subprocess.Popen(
        ["setsid", "--ctty", *command], stdin=terminal, stdout=terminal, stderr=terminal, env=env
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
