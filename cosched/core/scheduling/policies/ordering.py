"""Queue orderings by name, or as a user's own expression (scheduling.md, One scheduling iteration, 1)."""

from __future__ import annotations

from dataclasses import dataclass

from cosched.core.scheduling.policies.expression import Program, compile_expression
from cosched.core.scheduling.primitives import codes

NAMED = {
    "fcfs": codes.FCFS,  # first come, first served
    "wfp": codes.WFP,  # (wait / requested)^3 x nodes, Cobalt's utility on Intrepid
    "shortest-first": codes.SHORTEST,
    "largest-first": codes.LARGEST,
}


@dataclass(frozen=True, slots=True)
class Ordering:
    """A score for queued jobs, highest first; `program` only for an expression."""

    code: int
    program: Program | None = None


def ordering_by(address: int) -> Ordering:
    """Return the function of C at this address as the score: of wait, requested (seconds) and nodes, as doubles."""
    return Ordering(codes.EXPRESSION, Program((codes.CALL,), (float(address),)))


def parse_ordering(text: str) -> Ordering:
    """A name in `NAMED`, or an expression over wait, requested and nodes; ValueError says what is wrong with it."""
    if text in NAMED:
        return Ordering(NAMED[text])
    if text.isidentifier() and text not in ("wait", "requested", "nodes"):
        known = ", ".join(NAMED)
        raise ValueError(f"no policy {text!r}: it is one of {known}, or an expression of wait, requested, nodes")
    return Ordering(codes.EXPRESSION, compile_expression(text))
