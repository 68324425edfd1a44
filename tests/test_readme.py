"""Everything in the README works as written, and prints what it shows."""

from __future__ import annotations

import getpass
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.live.services import Service, wait_until

README = Path(__file__).resolve().parents[1] / "README.md"
LIVE = "Run a pair of services"  # the section with which the tour of the services begins
LOOK = "cosched queue"  # shows one instant
PATIENT = {  # what a reader would do on a machine that is slow just then
    "| tail -n 4\n": "| tail -n 60\n",  # a job that waits for longer has a longer story
    "\ncat cosched-1.out ../intrepid/cosched-1.out\n": (
        "\nuntil [ -s ../intrepid/cosched-1.out ]; do sleep 0.1; done\ncat cosched-1.out ../intrepid/cosched-1.out\n"
    ),
}
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("COSCHED_")},
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
}


@dataclass(frozen=True)
class Block:
    """A fenced block, and the block of text after it, which shows what it prints."""

    language: str
    code: str
    shown: str
    live: bool

    @property
    def terminal(self) -> str:
        """Where it is to be typed."""
        found = re.match(r"# (terminal \d)", self.code)
        return found[1] if found else "terminal 0"


def blocks(*, live: bool) -> list[Block]:
    text = README.read_text(encoding="utf-8")
    beginning = text.index(f"## {LIVE}")
    fenced = re.finditer(r"```(sh|python)\n(.*?)```\n(?:\n```text\n(.*?)```)?", text, re.DOTALL)
    found = [Block(match[1], match[2], match[3] or "", match.start() > beginning) for match in fenced]
    return [block for block in found if block.live is live]


class Terminal:
    """A shell that stays open: its folder, variables and background jobs last from block to block."""

    def __init__(self, folder: Path, name: str) -> None:
        self._files = folder / f".{name}"
        self._files.mkdir()
        self._output = self._files / "output"
        with self._output.open("wb") as output:
            self._shell = subprocess.Popen(
                ["bash", "-eu"], stdin=subprocess.PIPE, stdout=output, stderr=output, cwd=folder, env=ENVIRONMENT,
                start_new_session=True,
            )  # fmt: skip

    def run(self, code: str) -> str:
        """What it prints. A command that fails fails the test."""
        number = len(list(self._files.iterdir()))
        block, done = self._files / f"block{number}", self._files / f"done{number}"
        block.write_text(code)
        before = self._output.stat().st_size
        assert self._shell.stdin is not None
        self._shell.stdin.write(f". '{block}' < /dev/null\ntouch '{done}'\n".encode())
        self._shell.stdin.flush()
        wait_until(lambda: done.exists() or self._shell.poll() is not None, code, patience=300)
        printed = self._output.read_bytes()[before:].decode()
        assert done.exists(), f"{code}\nfailed: {printed}"
        return printed

    def close(self) -> None:
        """End the shell and its background jobs, which are of its process group."""
        os.killpg(self._shell.pid, signal.SIGKILL)
        self._shell.wait()
        assert self._shell.stdin is not None
        self._shell.stdin.close()


class Terminals:
    """The terminals of the README by name, all in one folder at first."""

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
        Service(self.folder, "tour").clear()


@pytest.fixture
def terminals(tmp_path: Path) -> Iterator[Terminals]:
    made = Terminals(tmp_path)
    yield made
    made.close()


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
    shown = missing(block, printed)
    assert not shown, f"{shown!r} is not in:\n{printed}"


def look_again(block: Block, printed: str, terminals: Terminals) -> str:
    """What it has printed, and what its last line prints until that is as shown, if it looks at the queue."""
    again = replace(block, code=f"# {block.terminal}\n{LOOK}\n")
    parts = [printed]

    def is_shown() -> bool:
        if missing(block, "".join(parts)):
            parts.append(terminals.run(again))
            return False
        return True

    if block.code.endswith(f"\n{LOOK}\n"):
        wait_until(is_shown, f"the queue is as shown:\n{block.shown}")
    return "".join(parts)


def test_the_simulator_s_part_works_as_written(terminals):
    printed = []
    for block in blocks(live=False):
        printed.append(terminals.run(block))
        assert printed[-1]
        assert_prints_what_is_shown(block, printed[-1])
    assert len(printed) >= 6
    assert (terminals.folder / "run1" / "jobs.csv").stat().st_size > 100_000
    assert any("'together': 754" in text for text in printed)
    assert "'desynchronised': 0" in printed[-1]  # the Python block


def test_the_tour_of_the_services_works_as_written(terminals):
    tour = blocks(live=True)
    assert {block.terminal for block in tour if block.language == "sh"} == {"terminal 0", "terminal 1", "terminal 2"}
    for block in tour:
        if "buf curl" in block.code and shutil.which("buf", path=ENVIRONMENT["PATH"]) is None:
            continue
        assert_prints_what_is_shown(block, look_again(block, terminals.run(patient(block)), terminals))


def patient(block: Block) -> Block:
    code = block.code
    for impatient, with_patience in PATIENT.items():
        code = code.replace(impatient, with_patience)
    return replace(block, code=code)


def test_the_tour_shows_what_matters():
    written = "".join(block.code for block in blocks(live=True))
    assert all(impatient in written for impatient in PATIENT)
    shown = "".join(block.shown for block in blocks(live=True))
    assert "(MateUnsubmitted)" in shown
    assert "started: its mate's domain cannot be reached" in shown


def test_the_links_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)\)", README.read_text(encoding="utf-8"))
    assert links
    assert all((README.parent / link).exists() for link in links)
