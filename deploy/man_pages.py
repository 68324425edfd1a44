"""Writes the manual pages of all commands: `python -m deploy.man_pages FOLDER` (`make man`)."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from click_man.core import write_man_pages

from cosched.cli.commands import commands
from cosched.cli.main import main
from cosched.version import VERSION


def write(folder: Path) -> list[Path]:
    """Write the pages cosched.1, cosched-submit.1 and so on into `folder`, which is made if necessary. OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    group = click.Group("cosched", help=main.help, params=main.params)
    context = click.Context(main)
    for name, found in commands().items():
        command = main.get_command(context, name)
        assert command is not None
        command.short_help = found.short_help
        group.add_command(_with_epilog(command), name)
    write_man_pages("cosched", group, version=VERSION, target_dir=str(folder))
    return sorted(folder.glob("cosched*.1"))


def _with_epilog(command: click.Command) -> click.Command:
    """Move the epilog to the end of the description, since the generator does not know epilogs."""
    if command.epilog:
        command.help = f"{command.help}\n\n{command.epilog}"
    return command


if __name__ == "__main__":
    for page in write(Path(sys.argv[1])):
        print(page)
