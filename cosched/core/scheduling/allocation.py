"""What a job has while it runs. Its size and its end belong to that, not to the job, and may change."""

from __future__ import annotations

from fractions import Fraction

from cosched.core.messages import message
from cosched.core.protocol import JobId


@message
class Allocation:
    """A job has `nodes` nodes from the instant `start` on, and they are expected back at `expected`.

    Each second there counts as `rate` seconds (more than 0) of the job's run time, from the instant `resumes` on: a
    change of size may cost time.
    """

    job: JobId
    nodes: int
    start: int
    expected: int
    rate: Fraction | int = 1
    resumes: int = 0


@message
class Resized:
    """A running job has another allocation from now on.

    Until a scheduler says so, also right after a start, a running job has the nodes that it was submitted with, from
    its start on, at rate 1.
    """

    allocation: Allocation
