"""Adapters by name: the entry points of the group `cosched.adapters`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Protocol, cast

from cosched.installation.extras import SIMULATOR, install_command
from cosched.validation.near_names import did_you_mean
from cosched_adapters.batch_system import BatchSystem, BatchSystemFactory
from cosched_adapters.launcher import Launcher
from cosched_adapters.manager import SettingError

GROUP = "cosched.adapters"
SCHEDULER = "scheduler"  # the setting, in no file, by which a service tells a replay the keys of its scheduler
OF_SIMULATOR = ("replay",)  # those that coscheduling-sim brings
ResourceManager = Launcher | BatchSystem  # of either kind


class ManagerFactory(Protocol):
    """What an entry point of the group `cosched.adapters` names; for a batch system, it is a `BatchSystemFactory`."""

    def __call__(self, domain: str, directory: Path, settings: Mapping[str, object]) -> ResourceManager:
        """Return the manager of `domain`. The adapter keeps its files in `directory`, which it shares with nobody.

        `settings` are the adapter's keys of [manager]. Raises SettingError.
        """


def load_manager(kind: str) -> ManagerFactory:
    """Return the factory of this kind of manager; SettingError if there is none or its adapter cannot be imported."""
    found = _installed(tuple(sys.path))
    if kind not in found:
        known = ", ".join(sorted(found)) or "none"
        if kind in OF_SIMULATOR:
            raise SettingError("kind", f"{kind} is not installed, only {known}: {install_command(SIMULATOR)}")
        near = did_you_mean(kind[:64], found)
        raise SettingError("kind", f"no adapter is named {kind[:64]!a}{near} (installed: {known})")
    try:
        factory = found[kind].load()
    except (ImportError, AttributeError) as error:
        raise SettingError("kind", f"the adapter {kind!a} cannot be loaded: {error}") from error
    if not callable(factory):
        raise SettingError("kind", f"the adapter {kind!a} is not callable")
    return cast(ManagerFactory, factory)


@cache
def _installed(path: tuple[str, ...]) -> Mapping[str, EntryPoint]:  # noqa: ARG001
    """All by name, looked up once for a `path`: that reads a file of every package, and a start asks ten times."""
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def load_batch_system(kind: str) -> BatchSystemFactory | None:
    """Return the factory of this kind of batch system; None if it is not a batch system, or cannot be loaded here."""
    try:
        factory = load_manager(kind)
    except SettingError:
        return None
    return factory if isinstance(factory, BatchSystemFactory) else None
