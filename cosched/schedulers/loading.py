"""The kinds of schedulers that are installed: the entry points of the group `cosched.schedulers`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from cosched.installation.brought import brought
from cosched.schedulers.column import MAX_NODES, MIN_NODES
from cosched.schedulers.kind import SchedulerKind
from cosched.validation.text import shown
from cosched.words.errors import InputError

GROUP = "cosched.schedulers"
DEFAULT = "batch"
OF_PAPERS = ("fluid", "heterogeneous", "molding")  # those that coscheduling-papers brings


@cache
def installed() -> Mapping[str, SchedulerKind]:
    """Return all kinds by name; InputError as for `kinds`."""
    found: dict[str, SchedulerKind] = {}
    for entry in sorted(entry_points(group=GROUP)):
        kind = _loaded(entry)
        for other in found.values():
            both = other.keys.model_fields.keys() & kind.keys.model_fields.keys()
            for key in sorted(both.difference(other.shares, kind.shares)):
                raise InputError(f"scheduler {kind.name}", key, f"is a key of {other.name}, too: give it another name")
        found[kind.name] = kind
    if DEFAULT not in found:
        raise _is_missing(DEFAULT)
    return found


@cache
def kinds() -> Mapping[str, SchedulerKind]:
    """Return those that schedule, by name; InputError: one cannot be loaded, ours are missing, or keys are equal."""
    return {name: kind for name, kind in installed().items() if not kind.of_batch_systems}


@cache
def kind_of_batch_systems() -> SchedulerKind:
    """Return the kind that stands for batch systems; InputError as for `kinds`."""
    found = next((kind for kind in installed().values() if kind.of_batch_systems), None)
    if found is None:
        raise _is_missing("external")
    return found


def check_columns(kind: SchedulerKind, names: Iterable[str]) -> None:
    """ValueError: one of these is not a column that this kind reads of a submission; it names the kinds that do."""
    known = {column.asked for column in kind.columns()}
    for name in names:
        others = [other.title for other in kinds().values() if name in {column.asked for column in other.columns()}]
        if name not in known:
            who = f"only {' or '.join(others)} does" if others else "nor does any other that is installed here"
            if name in (MIN_NODES, MAX_NODES):
                raise ValueError(f"nodes: {kind.title} takes no range, {who}: give one number")
            raise ValueError(f"{shown(name)}: {kind.title} reads nothing of this name, {who}: leave it out")


def _is_missing(name: str) -> InputError:
    return InputError(GROUP, name, "is not an installed entry point: install this version of cosched again")


def kind_told_by(facts: Mapping[str, object]) -> SchedulerKind:
    """Return the kind of scheduler that a domain's part of a summary is of."""
    return next((kind for name, kind in kinds().items() if name in facts), kinds()[DEFAULT])


def _loaded(entry: EntryPoint) -> SchedulerKind:
    kind = brought(entry, SchedulerKind, "scheduler")  # type: ignore[type-abstract]
    for what in ("purpose", "keys"):
        if not hasattr(kind, what):
            raise InputError(f"scheduler {entry.name}", what, f"is missing in {entry.value}")
    return kind
