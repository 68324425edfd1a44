"""`cosched drain` and `cosched resume`: the commands before and after a domain's maintenance."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from cosched.cli.client.connection import connected, server_option
from cosched.cli.client.spans import SPAN
from cosched.cli.client.wording import local_time
from cosched.cli.output.plain_text import printable
from cosched.cli.output.terminal import say, show_text

if TYPE_CHECKING:
    from cosched.client import Client, Drain

LOOK_EVERY = 0.5  # seconds
MOST_SHOWN = 10  # jobs in a line


@click.command()
@click.option("--for", "expected", type=SPAN, metavar="TIME", help="How long it is expected to take (1h).")
@click.option("--settle", type=SPAN, metavar="TIME", help="How long holding jobs may keep their nodes (30s).")
@click.option("--no-wait", is_flag=True, help="Do not wait until no job holds.")
@server_option
def drain(expected: int | None, settle: int | None, no_wait: bool, server: str | None) -> None:
    """Prepare the domain for maintenance: no new holds and no pairs until `cosched resume`.

    Holding jobs ask once more whether their mates can start, and give their nodes back after --settle. Jobs without
    mates run and start as usual. The other domains are told: their jobs hold no nodes for this domain, and when it
    stops they wait for at most --for (up to 7 days). The drain lasts over restarts. For operators.

    The command waits until no job here holds nodes for its mate. If it is interrupted, the domain still drains.
    """
    with connected(server) as client:
        drained = client.drain(expected, settle=settle)
        assert drained.drain is not None
        say(printable(f"{drained.name} drains; peers wait until about {local_time(drained.drain.until)}"))
        if not no_wait:
            _wait(client)


@click.command()
@server_option
def resume(server: str | None) -> None:
    """End what `cosched drain` began: the domain makes holds and pairs again. For operators."""
    with connected(server) as client:
        drained = client.domain().drain is not None
        resumed = client.resume()
    show_text(printable(f"{resumed.name} {'makes pairs again' if drained else 'did not drain: nothing has changed'}"))


def _wait(client: Client) -> None:
    """Wait until the domain is drained or resumed; on each change say which jobs it waits for."""
    told: tuple[str, ...] = ()
    domain = client.domain()
    while (drain := domain.drain) is not None and drain.waits_for:
        if drain.waits_for != told:
            told = drain.waits_for
            say(printable(_waits(drain)))
        time.sleep(LOOK_EVERY)
        domain = client.domain()
    done = "was resumed" if drain is None else "is drained: no job here holds nodes for its mate"
    say(printable(f"{domain.name} {done}"))


def _waits(drain: Drain) -> str:
    jobs = [job.rpartition(":")[2] for job in drain.waits_for]
    shown = ", ".join(jobs[:MOST_SHOWN]) + (f" and {len(jobs) - MOST_SHOWN} more" if len(jobs) > MOST_SHOWN else "")
    waits = (
        f"waiting for job{'s' if len(jobs) > 1 else ''} {shown}, which may hold until {local_time(drain.settled_by)}"
    )
    return f"{waits} (a job that cannot give its nodes back, as of srun, keeps them: cancel it, or let its mate start)"
