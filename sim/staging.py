"""Files of a run that appear together or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

SUMMARY = "summary.json"
# What belongs to a summary, if the run wrote it.
COMPANIONS = ("jobs.csv", "holds.csv", "yields.csv", "events.jsonl", "report.html")


@contextlib.contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let an OSError of the block name `path`: not every one says what could not be written."""
    try:
        yield
    except OSError as error:
        name = "standard output" if path == "-" else os.fspath(path)
        raise OSError(error.errno or errno.EIO, error.strerror or str(error), name) from None


@contextlib.contextmanager
def staged(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """A new folder inside `folder` to write in; its files move to `folder` when the block ends.

    After an error nothing remains of it, nor of the folders that had to be made. Summaries move last: where
    there is one, the files beside it are whole and its own. An OSError of the block names `folder`.
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
    except BaseException:
        shutil.rmtree(stage, ignore_errors=True)
        with contextlib.suppress(OSError):
            for path in reversed(made):
                path.rmdir()
        raise
    shutil.rmtree(stage, ignore_errors=True)


def _make(folder: Path, made: list[Path]) -> None:
    """Make a folder and its parents; those that were not there are added to `made`, the outermost first."""
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
        if file.name == SUMMARY:
            _forget_older_run((target / file).parent)
    for file in sorted(files, key=lambda file: file.name == SUMMARY):
        os.replace(stage / file, target / file)


def _forget_older_run(folder: Path) -> None:
    for name in (SUMMARY, *COMPANIONS):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(folder / name)
