"""`cosched watch`, also called `cosched events`: the events of a domain, as they happen."""

from __future__ import annotations

import json

import click

from cosched.cli.client.connection import connected, server_option
from cosched.cli.client.jobs import JOB_ID
from cosched.cli.client.wording import local_time
from cosched.cli.output.plain_text import printable
from cosched.cli.output.terminal import show_text
from cosched.words.plain_json import json_value


@click.command()
@click.argument("jobs", metavar="[ID...]", nargs=-1, type=JOB_ID)
@click.option("--after", type=click.IntRange(min=0), metavar="N", help="Begin after event N (0: all that are kept).")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only of this kind, such as started.")
@click.option("--until-now", is_flag=True, help="End after the events that are kept now.")
@click.option("--json", "as_json", is_flag=True, help="Print each event as a line of JSON.")
@server_option
def watch(
    jobs: tuple[str, ...], after: int | None, kinds: tuple[str, ...], until_now: bool, as_json: bool, server: str | None
) -> None:
    """Follow what happens in the domain, or to some of its jobs, until interrupted (Ctrl-C; exit code 130).

    If the domain is restarted meanwhile, it continues after the last event.
    """
    with connected(server) as client:
        client.domain()  # fails at once if the domain is away, instead of waiting for a restart
        try:
            events = client.events(0 if until_now and after is None else after, jobs, kinds, until_now=until_now)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--kind") from None
        for event in events:
            if as_json:
                show_text(json.dumps(json_value(event.as_dict())))
            else:
                show_text(f"{local_time(event.at)}  {printable(event.job or '-'):12}  {printable(event.text)}")
