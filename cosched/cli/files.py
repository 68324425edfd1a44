"""`cosched files`: the unit files, hooks, examples and other files that come with the package."""

from __future__ import annotations

from pathlib import Path

import click

from cosched.cli.output.terminal import show_text
from cosched.words.errors import InputError

_LIST = "deploy/FILES"
_PACKAGE = Path(__file__).parents[1]
_SOURCE = next(folder for folder in (_PACKAGE / "files", _PACKAGE.parent) if folder.is_dir())  # else of a source tree


@click.command(short_help="Write out unit files, hooks, examples, alerts.")
@click.argument("folder", metavar="DIR")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def files(folder: str, force: bool) -> None:
    """Write the files that an installation needs beside the command into DIR, and say what each is for.

    systemd units, Slurm's hooks, example configurations, SQL, alerts, a dashboard, and the pages that explain them.
    """
    target, lines = Path(folder), (_SOURCE / _LIST).read_text(encoding="utf-8").splitlines()
    purposes = dict(line.split(maxsplit=1) for line in lines if not line.startswith("#"))
    if not force and (there := next((name for name in purposes if (target / name).exists()), None)) is not None:
        raise InputError(str(target / there), None, "exists already; --force overwrites it")
    for name in purposes:
        _copy(_SOURCE / name, target / name)
    width = max(map(len, purposes))
    show_text("\n".join(f"{name:<{width}}  {purpose}" for name, purpose in purposes.items()))


def _copy(source: Path, target: Path) -> None:
    """Copy a file and set its proper mode, whatever the installation made of it; none of the files is secret."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(source.read_bytes())
    target.chmod(0o755 if source.stat().st_mode & 0o100 else 0o644)
