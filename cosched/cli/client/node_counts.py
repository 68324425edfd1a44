"""How many nodes a job has: a number, or a range from which its scheduler chooses one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import click

from cosched.cli.output.plain_text import printable
from cosched.cli.output.terminal import say
from cosched.cli.parameters import Parsed
from cosched.schedulers.column import MAX_NODES, MIN_NODES
from cosched.words.errors import InputError

_PATTERN = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


class NodeRange(NamedTuple):
    """Any number of nodes from the first to the second."""

    least: int
    most: int

    def __str__(self) -> str:
        return f"{self.least}-{self.most}"


def _node_count(text: str) -> int | NodeRange:
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a number of nodes, such as 8, or a range, such as 4-16")
    least, most = int(match[1]), int(match[2] or match[1])
    if least < 1:
        raise ValueError(f"{least} is below 1")
    if most < least:
        raise ValueError(f"{text} ends before it begins: {most} is less than {least}")
    return NodeRange(least, most) if match[2] else least


NODE_COUNT = Parsed("nodes", _node_count)  # N or MIN-MAX


def asked_nodes(nodes: int | NodeRange, best: int | None, said: Mapping[str, str]) -> tuple[int, dict[str, str]]:
    """Return the size for which the time limit is given, and what bounds the scheduler's choice; UsageError.

    `said`: what the job says of its run times. Without `best` it follows from these, and that is told; InputError names
    what is wrong in them.
    """
    if not isinstance(nodes, NodeRange):
        if best is not None:
            raise click.UsageError("--best needs a range of --nodes, MIN-MAX")
        return nodes, {}
    if best is None:
        best = _best_size(nodes, said)
    elif not nodes.least <= best <= nodes.most:
        raise click.UsageError(f"--best {best} is not in the range of --nodes, {nodes}")
    return best, {MIN_NODES: str(nodes.least), MAX_NODES: str(nodes.most)}


def _best_size(nodes: NodeRange, said: Mapping[str, str]) -> int:
    from cosched.schedulers.loading import kinds

    try:
        found = [kind.best_size(said, nodes.least, nodes.most) for kind in kinds().values()]
    except ValueError as error:
        name, _, reason = str(error).partition(": ")
        raise InputError(f"--{name.replace('_', '-')}", None, reason) from None
    best = max(found, default=0)
    if not best:
        known = "the size for which --time is given, or --run-times on all sizes"
        raise click.UsageError(f"--nodes {nodes} needs --best N, {known}")
    say(printable(f"by its run times its best size is {best} nodes: --time is for these"))
    return best
