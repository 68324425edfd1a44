"""The settings of the Slurm manager: its own keys of [manager]."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cosched_adapters.manager import SettingError
from cosched_adapters.setting_checks import COMMON_NUMBERS, QueueSettings, common, path_of
from cosched_adapters.slurm.gate_script import CHOICES

_NUMBERS = COMMON_NUMBERS | {  # key: default, least, most; seconds, but for the port
    "gate_lead": (0.0, 0.0, 10.0),
    "tell_interval": (0.0, 0.0, 3600.0),
    "gate_patience": (120.0, 5.0, 86400.0),
    "hold_time": (0.0, 0.0, 86400.0),
    "gate_port": (0.0, 0.0, 65535.0),
}
_OTHERS = ("gates", "without_service", "conf", "gate_folder", "waiting_folder")


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmSettings(QueueSettings):
    """The settings of the Slurm manager; times are in seconds."""

    conf: Path | None = None  # slurm.conf; None: the default of Slurm's commands
    gate_lead: float = 0.0  # with the task prolog's gate: how long before an agreed instant a job starts
    tell_interval: float = 0.0  # between two times at which the AdminComment of jobs that wait says why; 0: never
    gate_folder: Path | None = None  # where the gates of all nodes find that instant; None: on the service's host only
    waiting_folder: Path | None = None  # where hooks note which jobs wait; None: they do not
    gates: Path | None = None  # of a user's own service: where the gates of its jobs find it; None: Slurm's hooks do
    gate_patience: float = 120.0  # how long such a gate waits for a service
    without_service: str = "start"  # what it does then: start its job alone, or requeue it
    hold_time: float = 0.0  # by how much the time limits of jobs with gates are raised until they start
    gate_port: float = 0.0  # at which gates reach the service if their nodes do not share its folder; 0: none


def read_settings(directory: Path, settings: Mapping[str, object]) -> SlurmSettings:
    """Read the settings. Relative paths, and the socket if it is not named, are in `directory`. SettingError."""
    without = settings.get("without_service", "start")
    if without not in CHOICES:
        raise SettingError("without_service", f"must be {' or '.join(CHOICES)}")
    return SlurmSettings(
        **common(directory, settings, ("Slurm", "squeue"), _NUMBERS, _OTHERS),
        conf=_conf(directory, settings),
        gate_folder=_gate_folder(directory, settings),
        waiting_folder=_path("waiting_folder", directory, settings),
        gates=_path("gates", directory, settings),
        without_service=str(without),
    )


def _path(key: str, directory: Path, settings: Mapping[str, object]) -> Path | None:
    return path_of(key, directory, settings[key]) if key in settings else None


def _conf(directory: Path, settings: Mapping[str, object]) -> Path | None:
    path = _path("conf", directory, settings)
    if path is not None and (not path.is_file() or not os.access(path, os.R_OK)):
        raise SettingError("conf", "must be a slurm.conf that can be read")
    return path


def _gate_folder(directory: Path, settings: Mapping[str, object]) -> Path | None:
    path = _path("gate_folder", directory, settings)
    if path is not None and not str(settings["gate_folder"]).startswith("/"):
        raise SettingError("gate_folder", "must be an absolute path: all nodes see it under this name")
    return path
