"""`cosched site`: machines, clusters, queues and all else of a domain's site, and what was learned of it."""

from __future__ import annotations

import click

from cosched.cli.client.connection import connected, json_option, server_option
from cosched.cli.output.plain_text import printable, table
from cosched.cli.output.terminal import show_json, show_text
from cosched.validation.run_times import csv_text
from cosched.words.errors import InputError

NUMBERS = ("bandwidth", "latency", "min_members", "seconds", "runs", "count", "total", "squares")
NOT_SHOWN = ("runs", "stated_times")  # unless they are asked for: `cosched times` sums them up


@click.command()
@click.argument("wanted", metavar="[TABLE]", required=False)
@click.option("--csv", "as_csv", is_flag=True, help="Print one table as CSV.")
@json_option
@server_option
def site(wanted: str | None, as_csv: bool, as_json: bool, server: str | None) -> None:
    """Show the site of a domain whose machines are not alike, as its database has it; or one table of it.

    The site's file is where an operator changes it. What was learned of run times is in the table runs, which `cosched
    times --import` takes.
    """
    if as_csv and wanted is None:
        raise click.UsageError("--csv prints one table: name it")
    with connected(server) as client:
        tables = client.site()
    if wanted is not None and wanted not in tables:
        raise InputError(wanted, None, f"is not a table of the site: name one of {', '.join(tables)}")
    chosen = {name: rows for name, rows in tables.items() if name == wanted or (as_json and wanted is None)}
    if as_json:
        show_json(chosen)
    elif as_csv:
        rows = tables[wanted or ""]
        show_text(csv_text(rows[0] if rows else (), (row.values() for row in rows)).removesuffix("\n"))
    else:
        chosen = chosen or {name: rows for name, rows in tables.items() if rows and name not in NOT_SHOWN}
        show_text("\n\n".join(f"{name}\n{_shown(rows)}" for name, rows in chosen.items()))


def _shown(rows: list[dict[str, str]]) -> str:
    if not rows:
        return "no rows"
    header, numbers = ([name.replace("_", " ").upper() for name in names] for names in (rows[0], NUMBERS))
    return table(header, ([printable(cell) for cell in row.values()] for row in rows), numbers=numbers)
