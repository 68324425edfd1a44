"""What packages bring by entry points: schedulers, studies, applications, sources of information."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import TypeVar

from cosched.words.errors import InputError

_Kind = TypeVar("_Kind")


def brought(entry: EntryPoint, kind: type[_Kind], what: str) -> _Kind:
    """Return what an entry point names: `what` of this kind, with the entry point's name. InputError."""
    named = f"{what} {entry.name}"
    try:
        found = entry.load()
    except Exception as error:  # whatever others have written there
        raise InputError(named, None, f"cannot be loaded: {error}") from error
    if not isinstance(found, kind) or getattr(found, "name", None) != entry.name:
        raise InputError(named, None, f"{entry.value} must be of class {kind.__name__} and have this name")
    return found
