"""What schedulers answer, checked where it comes in. Packages bring them, and later errors would name nobody."""

from __future__ import annotations

from cosched.core.allocation import Allocation
from cosched.core.protocol import JobId

SHOWN = 100  # characters of an answer


class NonsenseError(RuntimeError):
    """A scheduler has answered what no scheduler may, or done what the rules do not allow; `job`: None: not known."""

    def __init__(self, said: str, job: JobId | None) -> None:
        self.said = said  # after the name of the scheduler
        self.job = job
        super().__init__(f"the scheduler {said}")


def nonsense(call: str, job: JobId | None, answer: object) -> NonsenseError:
    """Return the error that a call has had this answer."""
    text = repr(answer)
    shown = text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
    return NonsenseError(f"has answered {shown} to {call}", job)


def allocation(call: str, job: JobId, answer: Allocation) -> Allocation:
    """Return the answer, an Allocation of at least one node; NonsenseError if it is none."""
    if type(answer) is Allocation and isinstance(answer.nodes, int) and answer.nodes > 0:
        return answer
    raise nonsense(call, job, answer)
