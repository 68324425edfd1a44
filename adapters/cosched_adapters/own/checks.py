"""Checks of `cosched doctor` for users' own services."""

from __future__ import annotations

from pathlib import Path

from cosched_adapters.findings import SHELL, Finding, ok, problem, warning


def check_gates(folder: Path | None, try_it: str) -> Finding:
    """Check that compute nodes see the gates' folder; `try_it`: a command that shows it."""
    if folder is None or not folder.is_dir():
        return problem("gates", f"{folder} is not a folder", "let your service make it", SHELL, "cosched up")
    heard = [path for path in folder.glob("[0-9]*.told") if path.stat().st_size]
    if not heard:
        found = f"{folder} is there; compute nodes must see it, too, and none has written there yet"
        return warning("gates", found, "try it", SHELL, try_it)
    last = max(heard, key=lambda path: path.stat().st_mtime)
    return ok("gates", f"compute nodes see {folder}: job {last.stem} has written there")
