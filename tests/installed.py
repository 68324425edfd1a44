"""Which distributions of this tree are installed: tests that need the others are skipped."""

from importlib.util import find_spec

PAPERS, SIMULATOR = (find_spec(package) is not None for package in ("cosched_papers", "cosched_sim"))
