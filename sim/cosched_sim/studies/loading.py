"""The studies that are installed: the entry points of the group `cosched.studies`."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from cosched.installation.brought import brought
from cosched.installation.extras import PAPERS, install_command
from cosched.words.errors import InputError
from cosched_sim.studies.study import Study

GROUP = "cosched.studies"


def names() -> list[str]:
    """Return the names of all studies; none is loaded."""
    return sorted({entry.name for entry in entry_points(group=GROUP)})


@cache
def study_called(name: str) -> Study | None:
    """Return a study, None if there is none of this name; InputError if it cannot be loaded."""
    found = entry_points(group=GROUP, name=name)
    if len(found) > 1:
        whose = " and ".join(sorted(entry.value for entry in found))
        raise InputError(f"study {name}", None, f"two packages have a study of this name: {whose}")
    return next((brought(entry, Study, "study") for entry in found), None)


def unknown(name: object, *others: str) -> str:
    """Say that no study has this name, and list all there are, with `others` that are not entry points."""
    brought = "" if names() else f"; {install_command(PAPERS)} brings those of papers"
    return f"no study is called {name!r}; there are {', '.join([*names(), *others]) or 'none'}{brought}"
