"""The blocks of code on a page, and terminals to type them in."""

import getpass
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.live.services import Service, wait_until

ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("COSCHED_")},
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
}


@dataclass(frozen=True)
class Block:
    """A fenced block of code, and the block of text after it, which shows what it prints."""

    language: str
    code: str
    shown: str

    @property
    def terminal(self) -> str:
        """Where it is to be typed."""
        found = re.match(r"# (terminal \d)", self.code)
        return found[1] if found else "terminal 0"


def blocks(page: Path) -> list[Block]:
    """Those to be typed. Text may stand between code and what it prints, but no other block."""
    fenced = re.findall(r"^```(\w+)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    following = [*fenced[1:], ("", "")]
    return [
        Block(language, code, shown if kind == "text" else "")
        for (language, code), (kind, shown) in zip(fenced, following, strict=True)
        if language in ("sh", "python")
    ]


# The first command of a shell: its process group ends with the tester, whose end of this pipe closes then.
GUARD = "{{ read -r -u {0} || kill -KILL 0; }} & disown; exec {0}<&-\n"


class Terminal:
    """A shell that stays open: its folder, variables and background jobs last from block to block."""

    def __init__(self, folder: Path, name: str) -> None:
        self._files = folder / f".{name}"
        self._files.mkdir()
        self._output = self._files / "output"
        guarded, self._tester = os.pipe()
        with self._output.open("wb") as output:
            self._shell = subprocess.Popen(
                ["bash", "-eu"], stdin=subprocess.PIPE, stdout=output, stderr=output, cwd=folder, env=ENVIRONMENT,
                start_new_session=True, pass_fds=[guarded],
            )  # fmt: skip
        os.close(guarded)
        self._type(GUARD.format(guarded))

    def run(self, code: str) -> str:
        """What it prints. A command that fails fails the test."""
        number = len(list(self._files.iterdir()))
        block, done = self._files / f"block{number}", self._files / f"done{number}"
        block.write_text(code)
        before = self._output.stat().st_size
        self._type(f". '{block}' < /dev/null\ntouch '{done}'\n")
        wait_until(lambda: done.exists() or self._shell.poll() is not None, code, patience=300)
        printed = self._output.read_bytes()[before:].decode()
        assert done.exists(), f"{code}\nfailed: {printed}"
        return printed

    def _type(self, code: str) -> None:
        assert self._shell.stdin is not None
        self._shell.stdin.write(code.encode())
        self._shell.stdin.flush()

    def close(self) -> None:
        """End the shell and its background jobs, which are of its process group."""
        os.killpg(self._shell.pid, signal.SIGKILL)
        self._shell.wait()
        os.close(self._tester)
        assert self._shell.stdin is not None
        self._shell.stdin.close()


class Terminals:
    """The terminals of a page by name, all in one folder at first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open: dict[str, Terminal] = {}

    def run(self, block: Block) -> str:
        """What the block prints."""
        if block.language == "python":
            return self["terminal 0"].run(f"python - <<'PYTHON'\n{block.code}PYTHON\n")
        return self[block.terminal].run(block.code)

    def __getitem__(self, name: str) -> Terminal:
        if name not in self._open:
            self._open[name] = Terminal(self.folder, name)
        return self._open[name]

    def close(self) -> None:
        """Leave no process behind."""
        for terminal in self._open.values():
            terminal.close()
        Service(self.folder, "page").clear()


def shape(line: str) -> str:
    """A line without what differs from run to run: numbers, the user's name, the width of columns.

    Nor does it say which of two mates was the first to be ready, or how exactly a peer failed to answer.
    """
    line = re.sub(rf"\b({re.escape(getpass.getuser())}|ann)\b", "USER", line)
    line = re.sub(r"started: (its holding mate started|its mate could start|asked by \w+)", "started: TOGETHER", line)
    line = re.sub(r"(gets no answer of \w+: \w+).*", r"\1", line)
    return " ".join(re.sub(r"\d+", "0", line).split())


def missing(block: Block, printed: str) -> str:
    """Each line that is shown begins one that is printed, in the same order; the first that does not."""
    lines = iter(printed.splitlines())
    for shown in block.shown.splitlines():
        if not any(shape(line).startswith(shape(shown)) for line in lines):
            return shown
    return ""


def assert_prints_what_is_shown(block: Block, printed: str) -> None:
    """Fails with the first line that is shown and not printed."""
    shown = missing(block, printed)
    assert not shown, f"{shown!r} is not in:\n{printed}"
