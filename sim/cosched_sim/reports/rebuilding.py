"""Makes the report of a folder, whether it holds a replay, a comparison, a sweep or a study."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from cosched.words.errors import InputError
from cosched_sim.reports.page import REPORT
from cosched_sim.results.staging import COMPARISON, SUMMARY, writing

# By the file that shows what a folder holds: module and function that make its report.
MAKERS = {
    "study.json": ("cosched_sim.studies.running", "rebuild"),
    "sweep.json": ("cosched_sim.reports.of_sweep", "rebuild"),
    COMPARISON: ("cosched_sim.reports.of_comparison", "write_comparison"),
    SUMMARY: ("cosched_sim.reports.of_replay", "write_report"),
}


def rebuild(folder: Path) -> Path:
    """Make the report of a folder from its files and return its path; InputError, OSError."""
    for name, (module, function) in MAKERS.items():
        if (folder / name).exists():
            make: Callable[[Path], Any] = getattr(import_module(module), function)
            with writing(folder):
                make(folder)
            return folder / REPORT
    if not folder.is_dir():
        raise InputError(str(folder), None, "no such folder; give the one that --out named")
    raise InputError(str(folder), None, f"holds no results (none of {', '.join(MAKERS)}); give what --out named")
