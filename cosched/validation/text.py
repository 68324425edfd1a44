"""Quotes the text of users in messages."""

from __future__ import annotations


def shown(text: str) -> str:
    """Return `text` in quotes for a message, shortened if it is long."""
    return repr(text if len(text) <= 40 else text[:37] + "...")
