"""Why a job waits in the queue of its scheduler: a reason with its words, as each kind of scheduler tells it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

SHORTER = "cosched submit -N (fewer nodes) or -t (a shorter time limit) lets it start earlier"


class Waits(NamedTuple):
    """A reason: one sentence for people, and what changes it, such as a command.

    `what`: which of the reasons in explain.proto, with its fields as `detail`; or a word of the scheduler's own.
    """

    what: str
    text: str
    change: str = ""
    detail: Mapping[str, int | str] = {}


def waits_for_nodes(required: int, available: int, ahead: int) -> Waits:
    """Return that fewer nodes are free than a job needs, or that there are enough, but `ahead` others come first."""
    nodes = {"required": required, "available": available}
    needs = f"it needs {_nodes(required)}, {available:,} {'is' if available == 1 else 'are'} free"
    if required > available:
        return Waits("nodes_busy", needs, SHORTER, nodes)
    return Waits("others_first", f"{needs}, but others come first: {ahead}", SHORTER, {**nodes, "ahead": ahead})


def _nodes(count: int) -> str:
    return f"{count:,} node{'s' if count != 1 else ''}"
