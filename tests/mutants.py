"""Mutants of the core: a rule at a time is switched off, or reversed, and its tests must notice.

`make mutants` runs these tests under each mutant of mutants.toml, and says which was the first to fail. It fails if
none did.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
OPTIONS = ("-q", "-x", "-p", "no:cacheprovider")
KERNELS = "cosched/core/scheduling/batch/kernels/"


class Mutant(NamedTuple):
    """A rule of the core, and a mistake in it: `new` in the place of `old`, which stands in `file` exactly once."""

    file: str
    rule: str
    old: str
    new: str
    tests: str  # files or folders

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
    mutant = MUTANTS[number]
    sys.meta_path.insert(0, _Finder(mutant))
    with tempfile.TemporaryDirectory() as folder:
        if mutant.file.startswith(KERNELS):  # else they would be those without the mistake, or kept with it
            os.environ["NUMBA_CACHE_DIR"] = folder
        # Plain assertions: else pytest finds our modules first, to rewrite theirs.
        return pytest.main([*OPTIONS, "--tb=no", "--assert=plain", *mutant.tests.split()])


def first_failed(module: str, *arguments: str) -> str | None:
    """Run tests by that module; return the first that fails. RuntimeError: they did not run."""
    command = [sys.executable, "-m", module, *arguments]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if ran.returncode == pytest.ExitCode.OK:
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", ran.stdout, re.MULTILINE)
    if failed is None:
        raise RuntimeError(f"{command}\n{ran.stdout}{ran.stderr}")
    return failed[1]


def main() -> int:
    """Run all; return how many survive."""
    every = sorted({test for mutant in MUTANTS for test in mutant.tests.split()})
    if fails := first_failed("pytest", *OPTIONS, *every):
        sys.exit(f"{fails} fails without any mutant")
    survivors = 0
    for number, mutant in enumerate(MUTANTS):
        caught_by = first_failed("tests.mutants", str(number))
        survivors += caught_by is None
        print(f"{mutant.rule:<56} {caught_by or 'SURVIVES'}", flush=True)
    return survivors


if __name__ == "__main__":
    sys.exit(run_under(int(sys.argv[1])) if sys.argv[1:] else main())
