"""Policies by name: ours, and those of other packages, from entry points of the group `cosched.policies`."""

from __future__ import annotations

import ctypes
import logging
import math
from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from cosched.core.scheduling.policies.ordering import NAMED, Ordering, ordering_by, parse_ordering

GROUP = "cosched.policies"
REASON = 200  # characters of numba's reason that are told
Score = Callable[[float, float, float], float]
_FUNCTION_OF_C = ctypes.CFUNCTYPE(*[ctypes.c_double] * 4)
_LOG = logging.getLogger(__name__)


def expression_of(policy: str) -> str:
    """Return the expression of another package's policy, anything else unchanged; ValueError if it cannot be used.

    The name of one that is a function is unchanged, too.
    """
    found = _found(policy)
    return found if isinstance(found, str) else policy


def ordering_of(policy: str) -> Ordering:
    """Return the ordering of a policy that `expression_of` has returned; ValueError."""
    found = _found(policy)
    return parse_ordering(policy) if found is None or isinstance(found, str) else ordering_by(_address(policy, found))


def _found(policy: str) -> str | Score | None:
    """Return what another package's policy of this name is; None if there is none."""
    if policy in NAMED or not policy.isidentifier():
        return None
    for entry in entry_points(group=GROUP, name=policy):
        try:
            found: str | Score = entry.load()
        except (ImportError, AttributeError) as error:
            raise ValueError(f"the policy {policy!r} cannot be loaded: {error}") from error
        if not isinstance(found, str) and not callable(found):
            raise ValueError(f"the policy {policy!r} is neither the text of an expression nor a function")
        return found
    return None


@cache  # for good: kernels keep the address
def _address(policy: str, score: Score) -> int:
    """Return the address of the function, compiled where that can be, else one that calls it."""
    from numba import cfunc  # takes a second, and few need it

    try:
        compiled = cfunc("float64(float64, float64, float64)", error_model="numpy")(score)
    except Exception as error:  # numba does not say which
        reason = " ".join(str(error).split())[:REASON] or repr(error)
        _LOG.warning("the policy %s cannot be compiled, so it is slow: %s", policy, reason)
        compiled = _FUNCTION_OF_C(_harmless(policy, score))
        _KEPT.append(compiled)
        return int(ctypes.cast(compiled, ctypes.c_void_p).value or 0)
    _KEPT.append(compiled)
    return int(compiled.address)


_KEPT: list[Any] = []  # what is at the addresses


def _harmless(policy: str, score: Score) -> Score:
    """Put a job that the function fails for last; tell the first failure."""
    told: list[Exception] = []

    def score_or_none(wait: float, requested: float, nodes: float) -> float:
        try:
            return float(score(wait, requested, nodes))
        except Exception as error:
            if not told:
                where = f"wait={wait:g}, requested={requested:g}, nodes={nodes:g}"
                _LOG.error("the policy %s has failed for %s, and such jobs come last: %r", policy, where, error)
            told.append(error)
            return math.nan

    return score_or_none
