"""What packages bring by entry points: applications, and sources of information about machines."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from cosched.planning.application import Application
from cosched.planning.information.source import SourceKind
from cosched.words.errors import InputError

APPLICATIONS, INFORMATION = "cosched.applications", "cosched.information"

_Kind = TypeVar("_Kind")


@cache
def applications() -> Mapping[str, Application]:
    """Return all applications by name; InputError if one cannot be loaded, or ours are missing."""
    return _installed(APPLICATIONS, Application)


@cache
def source_kinds() -> Mapping[str, SourceKind]:
    """Return all kinds of sources of information by name; InputError as for `applications`."""
    return _installed(INFORMATION, SourceKind)


def _installed(group: str, kind: type[_Kind]) -> Mapping[str, _Kind]:
    found = {entry.name: _loaded(entry, kind) for entry in sorted(entry_points(group=group))}
    if not found:
        raise InputError(group, None, "no entry point of it is installed: install this version of cosched again")
    return found


def _loaded(entry: EntryPoint, kind: type[_Kind]) -> _Kind:
    source = f"{entry.group.removeprefix('cosched.')} {entry.name}"
    try:
        loaded = entry.load()
    except Exception as error:  # whatever others have written there
        raise InputError(source, None, f"cannot be loaded: {error}") from error
    if not isinstance(loaded, kind) or getattr(loaded, "name", None) != entry.name:
        raise InputError(source, None, f"{entry.value} is no {kind.__name__} of this name")
    return loaded
