"""Mutants of the core: a rule at a time is switched off, or reversed, and tests of the core must notice.

`make mutants` runs the core's tests under each, and says which test was the first to fail. It fails if none did.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
CORE = ROOT / "tests" / "core"
KERNELS = "cosched/core/scheduling/batch/kernels/"
OF_KERNELS = ("tests/core/test_holds_and_reservations.py", "tests/core/test_livelocks.py")  # others compile too much


class Mutant(NamedTuple):
    """A rule of the core, and a mistake in it: `new` in the place of `old`, which stands in `file` exactly once."""

    file: str
    rule: str
    old: str
    new: str

    @property
    def tests(self) -> Sequence[str]:
        """The tests that should notice: those of its kernels, or all of the core, single files before folders."""
        in_order = sorted(CORE.glob("[!_]*"), key=lambda path: (path.is_dir(), path))
        every = [str(path) for path in in_order if path.is_dir() or path.match("test_*.py")]
        return OF_KERNELS if self.file.startswith(KERNELS) else every

    def text(self) -> str:
        """Return the file's text with the mistake; ValueError: the rule's text is not there, or not once."""
        text = (ROOT / self.file).read_text()
        if (count := text.count(self.old)) != 1:
            raise ValueError(f"{self.file}: {self.old!r} is there {count} times, not once: change tests/mutants.toml")
        return text.replace(self.old, self.new)


RULES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
MUTANTS = [Mutant(file, rule, *texts) for file, rules in RULES.items() for rule, texts in rules.items()]


class _Mutated(SourceFileLoader):
    """Loads a module from its text with the mistake."""

    mutant: Mutant

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002
        return self.source_to_code(self.mutant.text(), self.path)


class _Finder(MetaPathFinder):
    """Finds the module of a mutant before others do."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant
        self.module = mutant.file.removesuffix(".py").replace("/", ".")

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        if fullname != self.module:
            return None
        loader = _Mutated(fullname, str(ROOT / self.mutant.file))
        loader.mutant = self.mutant
        return importlib.util.spec_from_file_location(fullname, loader.path, loader=loader)


def run_under(number: int) -> int:
    """Run the tests of that mutant in this process until one fails."""
    sys.meta_path.insert(0, _Finder(MUTANTS[number]))
    # Plain assertions: else pytest finds our modules first, to rewrite theirs.
    return pytest.main(["-q", "-x", "--tb=no", "--assert=plain", "-p", "no:cacheprovider", *MUTANTS[number].tests])


def first_failure(number: int) -> str | None:
    """Return the first test that fails under that mutant; None: all pass. RuntimeError: the tests did not run."""
    with tempfile.TemporaryDirectory() as kernels:
        own = {"NUMBA_CACHE_DIR": kernels} if MUTANTS[number].file.startswith(KERNELS) else {}  # else they are stale
        command = [sys.executable, "-m", "tests.mutants", str(number)]
        ran = subprocess.run(command, cwd=ROOT, env={**os.environ, **own}, capture_output=True, text=True, check=False)
    if ran.returncode == pytest.ExitCode.OK:
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", ran.stdout, re.MULTILINE)
    if failed is None:
        raise RuntimeError(f"{MUTANTS[number].rule}\n{ran.stdout}{ran.stderr}")
    return failed[1]


def main() -> int:
    """Run all; return how many survive."""
    survivors = 0
    for number, mutant in enumerate(MUTANTS):
        caught_by = first_failure(number)
        survivors += caught_by is None
        print(f"{mutant.rule:<56} {caught_by or 'SURVIVES'}", flush=True)
    return survivors


if __name__ == "__main__":
    sys.exit(run_under(int(sys.argv[1])) if sys.argv[1:] else main())
