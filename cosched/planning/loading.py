"""What packages bring by entry points: applications, and sources of information about machines."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import TypeVar

from cosched.installation.brought import brought
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
    what = group.removeprefix("cosched.")
    found = {entry.name: brought(entry, kind, what) for entry in sorted(entry_points(group=group))}
    if not found:
        raise InputError(group, None, "no entry point of it is installed: install this version of cosched again")
    return found
