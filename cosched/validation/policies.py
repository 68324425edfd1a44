"""Policies by name: ours, and those of other packages, from entry points of the group `cosched.policies`."""

from __future__ import annotations

from importlib.metadata import entry_points

from cosched.core.scheduling.policies.ordering import NAMED

GROUP = "cosched.policies"


def expression_of(policy: str) -> str:
    """Return the expression of another package's policy, anything else unchanged; ValueError if it cannot be used."""
    if policy in NAMED or not policy.isidentifier():
        return policy
    for entry in entry_points(group=GROUP, name=policy):
        try:
            expression = entry.load()
        except (ImportError, AttributeError) as error:
            raise ValueError(f"the policy {policy!r} cannot be loaded: {error}") from error
        if not isinstance(expression, str):
            raise ValueError(f"the policy {policy!r} is not the text of an expression")
        return expression
    return policy
