"""`cosched map`: inside a job, map the application to the machines that the job and its mates have got."""

from __future__ import annotations

import shlex
import socket
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import click

from cosched.cli.client.connection import connected, server_option
from cosched.cli.client.mates import own_id, own_nodelist, when_placed
from cosched.cli.client.time_limits import TIME_LIMIT
from cosched.cli.output.failures import FAILED, Failure
from cosched.cli.output.plain_text import printable
from cosched.cli.output.terminal import show_text
from cosched.cli.problem_options import problem_options
from cosched.words.errors import InputError

if TYPE_CHECKING:
    from cosched.cli.selection import Known
    from cosched.planning.application import Map
    from cosched.planning.grid import Machine


@click.command()
@click.option("--machines", "file", metavar="FILE", required=True, help="The machines and their links, as TOML.")
@problem_options(required=True, strategies=False)
@click.option("--timeout", type=TIME_LIMIT, help="How long mates may take to tell their nodes: 12h or D-HH:MM:SS.")
@server_option
def remap(file: str, application: str, size: int, timeout: int | None, server: str | None) -> None:
    """Inside a job, map an application to the machines that the job and its mates have got.

    \b
      eval "$(cosched map --machines grid.toml --application jacobi --size 16800)"

    It is for domains that give nodes by their number, so that nobody knows before which ones they are. All jobs of a
    group call it, and get parts of the same map: MAP_MACHINES, MAP_SHARES, MAP_BEFORE and MAP_SIZE, as by
    cosched submit --select. It waits for the mates to tell their nodes. What holds at any time counts, so that all have
    the same.
    """
    from cosched.cli.selection import known
    from cosched.planning.problem import problem_of

    machines = known(file, problem_of(application, size), "static")
    domain, given = _given(server, None if timeout is None else time.monotonic() + timeout)
    chosen = mapped(machines, given)
    places = [place for place, machine in enumerate(chosen.machines) if machine.domain == domain]
    show_text("\n".join(f"export {name}={shlex.quote(value)}" for name, value in chosen.told(places).items()))


def _given(server: str | None, until: float | None) -> tuple[str, dict[str, list[str]]]:
    """Return the job's own domain, and the nodes that it and its mates have, by domain; Failure."""
    from cosched_adapters.slurm.hostlists import expand

    if (job := own_id()) is None:
        raise click.UsageError("not inside a job: run this in the script of one")
    with connected(server, job) as client:
        own = client.domain().name
        found = client.find_mates(job, host=socket.gethostname(), nodelist=own_nodelist())
        found = when_placed(client, job, found, until)
    lists = {own: own_nodelist(), **{mate.domain: mate.nodelist or "" for mate in found}}
    if untold := [domain for domain, nodelist in lists.items() if not nodelist]:
        raise Failure(printable(f"it is not known which nodes the job on {untold[0]} has"), FAILED)
    return own, {domain: expand(nodelist) for domain, nodelist in lists.items()}


def mapped(known: Known, given: Mapping[str, Iterable[str]]) -> Map:
    """Return the map to all machines that were given, by domain and node; InputError, Failure."""
    from cosched.planning.application import NoMapError
    from cosched.planning.metrics import METRICS, rankings
    from cosched.planning.sites import by_domain

    wanted = {(domain, node) for domain, nodes in given.items() for node in nodes}
    listed = {(each.domain, each.node): each.name for each in known.listed}
    if unknown := sorted(wanted - listed.keys()):
        domain, node = unknown[0]
        raise InputError(known.file, None, f"no machine of {domain} is called {node} there (node)")
    names = {listed[place] for place in wanted}
    if lacking := sorted(names & known.excluded.keys()):
        what = " and ".join(known.excluded[lacking[0]])
        raise InputError(known.file, f"machine.{lacking[0]!r}", f"the job has it, but its {what} is not known")
    grid = known.grid.among(machine for machine in known.grid.machines if machine.name in names)
    problem = known.problem
    _, mapper = problem.application.make(problem.size, problem.settings, grid, by_domain(grid))
    value = rankings(grid.machines)[METRICS[0]]
    best_first: list[Machine] = sorted(grid.machines, key=value.__getitem__, reverse=True)
    try:
        return mapper.map(best_first)
    except NoMapError as error:
        said = f"{problem.application.name} has no map to the nodes that were given: {error}"
        raise Failure(printable(said), FAILED) from None
