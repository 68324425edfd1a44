"""What a fluid scheduler keeps of a job over a restart."""

from __future__ import annotations

from typing import NamedTuple

# What else is kept: how many nodes a job still uses that has fewer by now; that it waits until others leave its nodes
USES, GATHERS = "uses", "gathers"


class Share(NamedTuple):
    """What is kept of a job that has nodes (fluid.md, The work of a job).

    It has `nodes` since `since`, when so much work was `left`, and works from `resumes` on. It was the `place`-th job
    to start, at `start`, and gave nodes in so many `harvests`.
    """

    nodes: int
    left: int = 0
    since: int = 0
    resumes: int = 0
    start: int = 0
    harvests: int = 0
    place: int = 0
