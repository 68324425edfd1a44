"""`cosched report`: makes the report of an earlier run again."""

from __future__ import annotations

from pathlib import Path

import click

from cosched.cli.output.terminal import progress
from cosched.installation.extras import SIMULATOR, needing


@click.command(short_help="Make the report of a run, a sweep or a study again.")
@click.argument("folder", metavar="DIR")
@needing(SIMULATOR)
def report(folder: str) -> None:
    """Make report.html and the figures of a run, a sweep or a study again, from its other files.

    DIR is what --out named. Prints the path of the report.
    """
    with progress("drawing the report ..."):
        from cosched_sim.reports.rebuilding import rebuild

        path = rebuild(Path(folder))
    click.echo(str(path))
