"""Print what of requirements.lock our distributions need, as requirements with hashes, in the order of the file.

`python deploy/locked.py coscheduling[scheduler] ...`: with these extras. Run it at the top of the source. pip checks
hashes only if it is given all requirements at once, and the whole lock has developers' tools, too.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

FOLDERS = {"coscheduling": ".", "coscheduling-sim": "sim", "coscheduling-papers": "papers"}
BUILD = "setuptools"  # installs the tree, without an environment of its own
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_USER = re.compile(r"^ +#(?: +via)? +([^\s(]+)", re.MULTILINE)  # a package that needs this one, in its entry


def locked(wanted: list[str], top: Path = Path()) -> Iterator[str]:
    """Return the entries of the lock; KeyError if it lacks a package."""
    entries = {_name(entry): entry for entry in re.split(r"\n(?=\w)", (top / "requirements.lock").read_text().strip())}
    projects = {name: tomllib.loads((top / folder / "pyproject.toml").read_text()) for name, folder in FOLDERS.items()}
    needed = {BUILD, *(name for each in wanted for name in _direct(each, projects))}
    for name in needed - entries.keys():
        raise KeyError(f"{name} is not in requirements.lock: make lock")
    users = {name: set(_USER.findall(entry)) for name, entry in entries.items()}
    while more := {name for name in users if users[name] & needed} - needed:
        needed |= more
    return (entry for name, entry in entries.items() if name in needed)


def _direct(requirement: str, projects: Mapping[str, Any]) -> Iterator[str]:
    """Yield the packages of others that a distribution of ours names; those of itself, if that is another's."""
    name, _, extras = requirement.partition(";")[0].partition("[")
    if (name := _name(name)) not in projects:
        yield name
        return
    project = projects[name]["project"]
    of_extras = (project["optional-dependencies"][extra] for extra in re.findall(r"\w+", extras.partition("]")[0]))
    for each in (*project["dependencies"], *(each for part in of_extras for each in part)):
        yield from _direct(each, projects)


def _name(requirement: str) -> str:
    """Return the name at the beginning of a requirement, in the form of the lock."""
    (name,) = _NAME.findall(requirement)[:1]
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    print("\n".join(locked(sys.argv[1:])))
