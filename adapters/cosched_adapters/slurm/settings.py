"""The settings of the Slurm manager: its own keys of [manager]."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cosched_adapters.manager import SettingError
from cosched_adapters.setting_checks import COMMON_NUMBERS, folder_of_commands, hook_socket, path_of, seconds
from cosched_adapters.slurm.gate_script import CHOICES

_NUMBERS = COMMON_NUMBERS | {  # key: default, least, most; seconds
    "gate_lead": (0.0, 0.0, 10.0),
    "tell_interval": (0.0, 0.0, 3600.0),
    "gate_patience": (120.0, 5.0, 86400.0),
}
_OTHERS = ("gates", "without_service")
_PATHS = ("conf", "bin", "hook_socket", "gate_folder", "waiting_folder")


@dataclass(frozen=True, slots=True)
class SlurmSettings:
    """The settings of the Slurm manager; times are in seconds."""

    hook_socket: Path  # where the hooks find the service, absolute
    conf: Path | None = None  # slurm.conf; None: the default of Slurm's commands
    bin: Path | None = None  # the folder of Slurm's commands; None: those in PATH
    backoff: float = 30.0  # how long a job that has yielded is not offered again
    try_patience: float = 2.5  # how long Slurm may take to offer a job that a peer wants to start
    poll_interval: float = 30.0  # between two looks at the queue if nothing happens
    command_timeout: float = 15.0  # how long a command of Slurm may take
    gate_lead: float = 0.0  # with the task prolog's gate: how long before an agreed instant a job starts
    tell_interval: float = 0.0  # between two times at which the AdminComment of jobs that wait says why; 0: never
    gate_folder: Path | None = None  # where the gates of all nodes find that instant; None: on the service's host only
    waiting_folder: Path | None = None  # where hooks note which jobs wait; None: they do not
    gates: Path | None = None  # of a user's own service: where the gates of its jobs find it; None: Slurm's hooks do
    gate_patience: float = 120.0  # how long such a gate waits for a service
    without_service: str = "start"  # what it does then: start its job alone, or requeue it


def read_settings(directory: Path, settings: Mapping[str, object]) -> SlurmSettings:
    """Read the settings. Relative paths, and the socket if it is not named, are in `directory`. SettingError."""
    known = sorted([*_PATHS, *_NUMBERS, *_OTHERS])
    without = settings.get("without_service", "start")
    if without not in CHOICES:
        raise SettingError("without_service", f"must be {' or '.join(CHOICES)}")
    for key in sorted(settings.keys() - set(known)):
        raise SettingError(str(key), f"is not a setting of the Slurm manager ({', '.join(known)})")
    return SlurmSettings(
        hook_socket(directory, settings),
        _conf(directory, settings),
        folder_of_commands(directory, settings, "Slurm", "squeue"),
        **seconds(settings, _NUMBERS),
        gate_folder=_gate_folder(directory, settings),
        waiting_folder=_waiting_folder(directory, settings),
        gates=path_of("gates", directory, settings["gates"]) if "gates" in settings else None,
        without_service=str(without),
    )


def _conf(directory: Path, settings: Mapping[str, object]) -> Path | None:
    if "conf" not in settings:
        return None
    path = path_of("conf", directory, settings["conf"])
    if not path.is_file() or not os.access(path, os.R_OK):
        raise SettingError("conf", "must be a slurm.conf that can be read")
    return path


def _gate_folder(directory: Path, settings: Mapping[str, object]) -> Path | None:
    if "gate_folder" not in settings:
        return None
    value = settings["gate_folder"]
    path = path_of("gate_folder", directory, value)
    if not str(value).startswith("/"):
        raise SettingError("gate_folder", "must be an absolute path: all nodes see it under this name")
    return path


def _waiting_folder(directory: Path, settings: Mapping[str, object]) -> Path | None:
    if "waiting_folder" not in settings:
        return None
    return path_of("waiting_folder", directory, settings["waiting_folder"])
