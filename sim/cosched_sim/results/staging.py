"""Lets the files of a run appear together or not at all."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from cosched.words.errors import InputError

SUMMARY = "summary.json"
COMPARISON = "comparison.json"  # the summaries of several runs, by the name of their folders beside it
# Files that belong to a summary or a comparison, if the run wrote them.
COMPANIONS = ("jobs.csv", "allocations.csv", "holds.csv", "yields.csv", "events.jsonl", "report.html")
UNFINISHED = "unfinished-run"  # the folder of what a run had written when it failed
FIGURES, FIGURE_FILES = "figures", (".svg", ".png", ".csv")


@contextlib.contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let an OSError of the block name `path`: not every OSError says which file could not be written."""
    try:
        yield
    except OSError as error:
        name = "standard output" if path == "-" else os.fspath(path)
        raise OSError(error.errno or errno.EIO, error.strerror or str(error), name) from None


@contextlib.contextmanager
def staged(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a new folder inside `folder` to write to; its files move to `folder` when the block ends.

    Summaries move last, so the files beside a summary are complete and belong to it. If it cannot be written, or is
    interrupted, the new folder is gone, with all parents that had to be made; an OSError of the block names `folder`.
    After a fault of the program, or of a package, what was written stays in `folder`/unfinished-run, as a note of the
    exception says: a replay may have taken hours.
    """
    target = Path(folder)
    stage = target / f".{secrets.token_hex(8)}.part"
    made: list[Path] = []
    try:
        with writing(target):
            _make(target, made)
            stage.mkdir()
            yield stage
            _move(stage, target, made)
    except BaseException as error:
        if isinstance(error, Exception) and not isinstance(error, OSError | InputError):
            _keep(stage, target / UNFINISHED, error)
        shutil.rmtree(stage, ignore_errors=True)
        with contextlib.suppress(OSError):
            for path in reversed(made):
                path.rmdir()
        raise
    shutil.rmtree(stage, ignore_errors=True)


def _keep(stage: Path, kept: Path, error: Exception) -> None:
    """Keep what a run has written before it failed."""
    if any(stage.iterdir()):
        shutil.rmtree(kept, ignore_errors=True)
        stage.rename(kept)
        error.add_note(f"What was written before is in {kept}")


def _make(folder: Path, made: list[Path]) -> None:
    """Make a folder and its parents; append those that did not exist to `made`, the outermost first."""
    for path in reversed((folder, *folder.parents)):
        if not path.is_dir():
            if path.exists():
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            path.mkdir(exist_ok=True)
            made.append(path)


def _move(stage: Path, target: Path, made: list[Path]) -> None:
    files = sorted(path.relative_to(stage) for path in stage.rglob("*") if path.is_file())
    for file in files:
        _make((target / file).parent, made)
    for file in files:
        if file.name in (SUMMARY, COMPARISON):
            _forget_older_run((target / file).parent)
            (target / file).parent.mkdir(exist_ok=True)
    for file in files:
        _make((target / file).parent, made)  # it may have been deleted with an older run
    for file in sorted(files, key=lambda file: file.name in (SUMMARY, COMPARISON)):
        os.replace(stage / file, target / file)


def _forget_older_run(folder: Path) -> None:
    """Delete the files of an older run or comparison, and nothing else."""
    for name in _compared(folder / COMPARISON):
        _forget_older_run(folder / name)
        with contextlib.suppress(OSError):
            (folder / name).rmdir()
    shutil.rmtree(folder / UNFINISHED, ignore_errors=True)
    figures = folder / FIGURES
    drawn = [file for file in figures.iterdir() if file.suffix in FIGURE_FILES] if figures.is_dir() else []
    for file in (folder / SUMMARY, folder / COMPARISON, *(folder / name for name in COMPANIONS), *drawn):
        with contextlib.suppress(FileNotFoundError):
            file.unlink()
    with contextlib.suppress(OSError):
        figures.rmdir()


def _compared(path: Path) -> list[str]:
    """Return the folders of the runs in an older comparison."""
    try:
        names = json.loads(path.read_text(encoding="utf-8"))["combinations"]
    except (OSError, ValueError, LookupError, TypeError):
        return []
    return [name for name in names if isinstance(name, str) and name.isalpha()]
