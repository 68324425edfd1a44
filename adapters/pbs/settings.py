"""The settings of the PBS manager: its own keys of [manager]."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cosched.adapters.manager import SettingError

_NUMBERS = {  # key: default, least, most; seconds
    "backoff": (30.0, 1.0, 86400.0),
    "try_patience": (2.5, 0.1, 60.0),
    "poll_interval": (30.0, 1.0, 3600.0),
    "command_timeout": (5.0, 0.5, 60.0),
    "guard": (0.3, 0.0, 10.0),
    "start_lead": (0.08, 0.0, 5.0),
}
_PATHS = ("bin", "hook_socket")
_LONGEST_SOCKET = 103  # bytes: Linux allows 107, and the socket is first made under a name with a suffix


@dataclass(frozen=True, slots=True)
class PbsSettings:
    """The settings of the PBS manager; times are in seconds."""

    hook_socket: Path  # where the server's hook finds the service, absolute
    bin: Path | None = None  # the folder of PBS's commands; None: those in PATH
    backoff: float = 30.0  # how long a job that has yielded is not offered again
    try_patience: float = 2.5  # how long PBS may take to offer a job that a peer wants to start
    poll_interval: float = 30.0  # between two looks at the queue if nothing happens
    command_timeout: float = 5.0  # how long a command of PBS may take
    guard: float = 0.3  # how long the hook alone keeps others from the nodes of an offered job; then they are offline
    start_lead: float = 0.08  # how long before an agreed instant qrun is called, at most


def read_settings(directory: Path, settings: Mapping[str, object]) -> PbsSettings:
    """Read the settings. Relative paths, and the socket if it is not named, are in `directory`. SettingError."""
    known = sorted([*_PATHS, *_NUMBERS])
    for key in sorted(settings.keys() - set(known)):
        raise SettingError(str(key), f"is not a setting of the PBS manager ({', '.join(known)})")
    numbers = {key: _number(key, settings.get(key, limits[0])) for key, limits in _NUMBERS.items()}
    return PbsSettings(_socket(directory, settings), _bin(directory, settings), **numbers)


def _number(key: str, value: object) -> float:
    _, least, most = _NUMBERS[key]
    if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
        raise SettingError(key, f"must be seconds from {least:g} to {most:g}")
    return float(value)


def _path(key: str, directory: Path, value: object) -> Path:
    if not isinstance(value, str) or not value or "\0" in value:
        raise SettingError(key, "must be a path")
    return (directory / value).absolute()


def _bin(directory: Path, settings: Mapping[str, object]) -> Path | None:
    if "bin" not in settings:
        return None
    path = _path("bin", directory, settings["bin"])
    if not os.access(path / "qstat", os.X_OK):
        raise SettingError("bin", "must be the folder of PBS's commands; qstat is not there")
    return path


def _socket(directory: Path, settings: Mapping[str, object]) -> Path:
    path = _path("hook_socket", directory, settings.get("hook_socket", "hooks.sock"))
    if len(os.fsencode(path)) > _LONGEST_SOCKET:
        raise SettingError("hook_socket", f"is too long for a Unix socket ({_LONGEST_SOCKET} bytes)")
    return path
