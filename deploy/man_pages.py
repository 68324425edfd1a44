"""Writes the manual pages of all commands: `python -m deploy.man_pages FOLDER` (`make man`)."""

from __future__ import annotations

import sys
from copy import copy
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
    context = click.Context(main, **main.context_settings)
    for name, found in commands().items():
        command = main.get_command(context, name)
        assert command is not None
        group.add_command(_for_a_page(command, found.short_help), name)
    # A command keeps the names of its help option, -h among them, from the first context that asks.
    write_man_pages("cosched", group, parent_ctx=context, version=VERSION, target_dir=str(folder))
    return sorted(folder.glob("cosched*.1"))


def _for_a_page(command: click.Command, short_help: str) -> click.Command:
    """Return a copy whose description ends with the epilog, since the generator does not know epilogs."""
    copied = copy(command)
    copied.short_help = short_help
    if command.epilog:
        copied.help = f"{command.help}\n\n{command.epilog}"
    return copied


if __name__ == "__main__":
    for page in write(Path(sys.argv[1])):
        print(page)
