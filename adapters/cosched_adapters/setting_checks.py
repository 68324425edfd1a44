"""Checks of the settings of [manager] that several batch systems have. They raise SettingError."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from cosched.words.file_errors import why_not_run
from cosched_adapters.manager import SettingError

_LONGEST_SOCKET = 103  # bytes: Linux allows 107, and the socket is first made under a name with a suffix


def number(default: float, least: float, most: float) -> Any:
    """Return the field of a number, in seconds, with its bounds."""
    return field(default=default, metadata={"bounds": (least, most)})


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSettings:
    """The settings that all batch systems have; times are in seconds."""

    hook_socket: Path  # where its hooks find the service, absolute
    bin: Path | None = None  # the folder of its commands; None: those in PATH
    backoff: float = number(30.0, 1.0, 86400.0)  # how long a job that has yielded is not offered again
    try_patience: float = number(2.5, 0.1, 60.0)  # how long it may take to offer a job that a peer wants to start
    poll_interval: float = number(30.0, 1.0, 3600.0)  # between two looks at the queue if nothing happens
    # How long one of its commands may take: a look at 10,000 jobs takes some 3 s, more while jobs are submitted.
    command_timeout: float = number(15.0, 0.5, 60.0)


def common(
    directory: Path,
    settings: Mapping[str, object],
    system: tuple[str, str],
    kind: type[QueueSettings] = QueueSettings,
    others: Collection[str] = (),
) -> dict[str, Any]:
    """Return the paths, and the numbers of this kind that are given, by name. Relative paths are in `directory`.

    `system`: its name, and a command that `bin` must have. SettingError, also for a key that is neither one of
    these nor in `others`.
    """
    bounds = {of.name: of.metadata["bounds"] for of in fields(kind) if of.metadata}
    known = sorted(["bin", "hook_socket", *bounds, *others])
    for key in sorted(settings.keys() - set(known)):
        raise SettingError(str(key), f"is not a setting of the {system[0]} manager ({', '.join(known)})")
    paths = {"hook_socket": _hook_socket(directory, settings), "bin": _folder_of_commands(directory, settings, *system)}
    return {**paths, **{key: _number(key, settings[key], *of) for key, of in bounds.items() if key in settings}}


def _number(key: str, value: object, least: float, most: float) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
        raise SettingError(key, f"must be seconds from {least:g} to {most:g}")
    return float(value)


def path_of(key: str, directory: Path, value: object) -> Path:
    """Return a path, absolute; a relative one is in `directory`."""
    if not isinstance(value, str) or not value or "\0" in value:
        raise SettingError(key, "must be a path")
    return (directory / value).absolute()


def _folder_of_commands(directory: Path, settings: Mapping[str, object], system: str, command: str) -> Path | None:
    """Return the folder `bin`, which must have this command of the batch system; None: it is not set."""
    if "bin" not in settings:
        return None
    path = path_of("bin", directory, settings["bin"])
    if not os.access(path / command, os.X_OK):
        raise SettingError("bin", f"must be the folder of {system}'s commands; {why_not_run(path / command)}")
    return path


def _hook_socket(directory: Path, settings: Mapping[str, object]) -> Path:
    """Return the path of `hook_socket`, which is hooks.sock in `directory` if it is not set.

    A service whose jobs wait at gates has no hooks, however long the path of its user's folder is.
    """
    path = path_of("hook_socket", directory, settings.get("hook_socket", "hooks.sock"))
    if len(os.fsencode(path)) > _LONGEST_SOCKET and "gates" not in settings:
        raise SettingError("hook_socket", f"is too long for a Unix socket ({_LONGEST_SOCKET} bytes)")
    return path
