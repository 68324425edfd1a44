"""The settings of the Slurm manager: its own keys of [manager]."""

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
    "gate_lead": (0.0, 0.0, 10.0),
}
_PATHS = ("conf", "bin", "hook_socket", "gate_folder", "waiting_folder")
_LONGEST_SOCKET = 103  # bytes: Linux allows 107, and the socket is first made under a name with a suffix


@dataclass(frozen=True, slots=True)
class SlurmSettings:
    """The settings of the Slurm manager; times are in seconds."""

    hook_socket: Path  # where the hooks find the service, absolute
    conf: Path | None = None  # slurm.conf; None: the default of Slurm's commands
    bin: Path | None = None  # the folder of Slurm's commands; None: those in PATH
    backoff: float = 30.0  # how long a job that has yielded is not offered again
    try_patience: float = 2.5  # how long Slurm may take to offer a job that a peer wants to start
    poll_interval: float = 30.0  # between two looks at the queue if nothing happens
    command_timeout: float = 5.0  # how long a command of Slurm may take
    gate_lead: float = 0.0  # with the task prolog's gate: how long before an agreed instant a job starts
    gate_folder: Path | None = None  # where the gates of all nodes find that instant; None: on the service's host only
    waiting_folder: Path | None = None  # where hooks note which jobs wait; None: they do not


def read_settings(directory: Path, settings: Mapping[str, object]) -> SlurmSettings:
    """Read the settings. Relative paths, and the socket if it is not named, are in `directory`. SettingError."""
    known = sorted([*_PATHS, *_NUMBERS])
    for key in sorted(settings.keys() - set(known)):
        raise SettingError(str(key), f"is not a setting of the Slurm manager ({', '.join(known)})")
    numbers = {key: _number(key, settings.get(key, limits[0])) for key, limits in _NUMBERS.items()}
    return SlurmSettings(
        _socket(_path("hook_socket", directory, settings.get("hook_socket", "hooks.sock"))),
        _conf(directory, settings),
        _bin(directory, settings),
        **numbers,
        gate_folder=_gate_folder(directory, settings),
        waiting_folder=_waiting_folder(directory, settings),
    )


def _number(key: str, value: object) -> float:
    _, least, most = _NUMBERS[key]
    if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
        raise SettingError(key, f"must be seconds from {least:g} to {most:g}")
    return float(value)


def _path(key: str, directory: Path, value: object) -> Path:
    if not isinstance(value, str) or not value or "\0" in value:
        raise SettingError(key, "must be a path")
    return (directory / value).absolute()


def _conf(directory: Path, settings: Mapping[str, object]) -> Path | None:
    if "conf" not in settings:
        return None
    path = _path("conf", directory, settings["conf"])
    if not path.is_file() or not os.access(path, os.R_OK):
        raise SettingError("conf", "must be a slurm.conf that can be read")
    return path


def _bin(directory: Path, settings: Mapping[str, object]) -> Path | None:
    if "bin" not in settings:
        return None
    path = _path("bin", directory, settings["bin"])
    if not os.access(path / "squeue", os.X_OK):
        raise SettingError("bin", "must be the folder of Slurm's commands; squeue is not there")
    return path


def _gate_folder(directory: Path, settings: Mapping[str, object]) -> Path | None:
    if "gate_folder" not in settings:
        return None
    value = settings["gate_folder"]
    path = _path("gate_folder", directory, value)
    if not str(value).startswith("/"):
        raise SettingError("gate_folder", "must be an absolute path: all nodes see it under this name")
    return path


def _waiting_folder(directory: Path, settings: Mapping[str, object]) -> Path | None:
    if "waiting_folder" not in settings:
        return None
    return _path("waiting_folder", directory, settings["waiting_folder"])


def _socket(path: Path) -> Path:
    if len(os.fsencode(path)) > _LONGEST_SOCKET:
        raise SettingError("hook_socket", f"is too long for a Unix socket ({_LONGEST_SOCKET} bytes)")
    return path
