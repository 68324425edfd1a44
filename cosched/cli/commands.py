"""The subcommands of `cosched`: those of the service, and those that other packages add by entry points.

An entry point of the group `cosched.commands` names a table such as `OWN`. The simulator adds its commands this way.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from itertools import chain
from typing import NamedTuple

import click

from cosched.installation.entry_points import EntryPoint, points_of
from cosched.installation.extras import SIMULATOR
from cosched.words.errors import InputError

GROUP = "cosched.commands"

USERS, OPERATORS, RESEARCHERS, OTHERS = "For users", "For operators", "For researchers", "More"


class Lazy(NamedTuple):
    """A command that is imported when it is called: its module, its name there, its short help, and whom it is for."""

    module: str
    name: str
    short_help: str
    whose: str = OTHERS  # the heading of its list in the help

    def load(self) -> click.Command:
        """Import the command."""
        command: click.Command = getattr(import_module(self.module), self.name)
        return command


Table = Mapping[str, Lazy]

OWN: Table = {
    "cancel": Lazy("cosched.cli.client.changes", "cancel", "Cancel jobs.", USERS),
    "certs": Lazy("cosched.cli.certs", "certs", "Make the certificates of domains and users.", OPERATORS),
    "compile": Lazy("cosched.cli.compile", "compile_all", "Compile the schedulers before they are needed.", OPERATORS),
    "completion": Lazy("cosched.cli.completion", "completion", "Print what a shell needs to complete commands.", USERS),
    "doctor": Lazy("cosched.cli.doctor", "doctor", "Check a domain's set-up and say what to change.", OPERATORS),
    "domains": Lazy("cosched.cli.client.cluster", "domains", "Show this domain and its peers.", USERS),
    "down": Lazy("cosched.cli.own", "down", "End your own service.", USERS),
    "drain": Lazy("cosched.cli.client.draining", "drain", "Prepare the domain for maintenance.", OPERATORS),
    "efficiency": Lazy("cosched.cli.client.usage", "efficiency", "Show what a pair or a group has cost.", USERS),
    "events": Lazy("cosched.cli.client.watch", "watch", "Follow what happens in the domain, as watch does.", USERS),
    "explain": Lazy("cosched.cli.client.explain", "explain", "Say when a job starts, and why it waits.", USERS),
    "files": Lazy("cosched.cli.files", "files", "Write out unit files, hooks, examples, alerts.", OPERATORS),
    "groups": Lazy("cosched.cli.client.queue", "groups", "Show the jobs that are in groups.", USERS),
    "link": Lazy("cosched.cli.client.changes", "link", "Name the mate of a job.", USERS),
    "map": Lazy("cosched.cli.client.mapping", "remap", "Inside a job: map its data to the nodes it has got.", USERS),
    "mates": Lazy("cosched.cli.client.mates", "mates", "Inside a job: tell and ask where its mates are.", USERS),
    "nodes": Lazy("cosched.cli.client.cluster", "nodes", "Show the nodes of the domain.", USERS),
    "pairs": Lazy("cosched.cli.client.queue", "pairs", "Show the jobs that have mates.", USERS),
    "peer": Lazy("cosched.cli.own", "peer", "Couple your own service with another one of yours.", USERS),
    "queue": Lazy("cosched.cli.client.queue", "queue", "Show the jobs of the domain.", USERS),
    "release": Lazy("cosched.cli.client.changes", "release", "End a job's hold.", USERS),
    "resume": Lazy("cosched.cli.client.draining", "resume", "End what drain began.", OPERATORS),
    "select": Lazy("cosched.cli.select", "select", "Choose machines for an application.", USERS),
    "serve": Lazy("cosched.cli.serve", "serve", "Serve one policy domain.", OPERATORS),
    "show": Lazy("cosched.cli.client.show", "show_job", "Show everything about a job, and its story.", USERS),
    "site": Lazy("cosched.cli.client.site", "site", "Show the machines, clusters and queues of the domain.", USERS),
    "submit": Lazy("cosched.cli.client.submit", "submit", "Submit a job, a job with a mate, or a group.", USERS),
    "times": Lazy(
        "cosched.cli.client.run_times", "times", "Show and correct the run times that were learned.", OPERATORS
    ),
    "unlink": Lazy("cosched.cli.client.changes", "unlink", "Dissolve a pair.", USERS),
    "up": Lazy("cosched.cli.own", "up", "Start your own service, or find it.", USERS),
    "usage": Lazy("cosched.cli.client.usage", "usage", "Show what jobs have cost beyond their runs.", USERS),
    "wait": Lazy("cosched.cli.client.wait", "wait", "Wait until jobs have ended, or have started.", USERS),
    "watch": Lazy("cosched.cli.client.watch", "watch", "Follow what happens in the domain.", USERS),
}
# Those that programs call, and no list has.
UNLISTED: Table = {"peer-stream": Lazy("cosched.cli.own", "peer_stream", "What cosched peer add runs by ssh.")}
# Those of other distributions, by the extra that brings them: whoever lacks one is told.
BROUGHT = dict.fromkeys(("demo", "replay", "report", "study", "sweep", "trace"), SIMULATOR)


def command(name: str) -> Lazy | None:
    """Return the command of this name, or None. InputError if it is not ours and `joined` fails."""
    return OWN.get(name) or UNLISTED.get(name) or joined().get(name)


def commands() -> Table:
    """Return all commands, ours and those that join, in the order of their names. InputError as `joined`."""
    return {name: OWN.get(name) or joined()[name] for name in heapq.merge(OWN, joined())}


@cache
def joined() -> Table:
    """Return the commands of other packages, by name. InputError if a table cannot be loaded."""
    return dict(sorted(chain.from_iterable(_load(point).items() for point in points_of(GROUP))))


def _load(point: EntryPoint) -> Table:
    _, _, attribute = point.value.partition(":")
    try:
        table: Table = getattr(import_module(point.module), attribute)
    except (ImportError, AttributeError) as error:
        mend = f"pip install --force-reinstall --no-deps {point.distribution}"
        raise InputError(GROUP, point.name, f"cannot be loaded: {error}: {mend}") from None
    return table
