"""The settings of the Slurm manager: its own keys of [manager]."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cosched_adapters.manager import SettingError
from cosched_adapters.own.settings import GATE_KEYS, GateSettings, read_gates
from cosched_adapters.setting_checks import common, number, path_of

_OTHERS = (*GATE_KEYS, "conf", "gate_folder", "waiting_folder")
_CHOICES = ("start", "requeue")


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmSettings(GateSettings):
    """The settings of the Slurm manager; times are in seconds."""

    conf: Path | None = None  # slurm.conf; None: the default of Slurm's commands
    hold_time: float = number(0.0, 0.0, 86400.0)
    # With the task prolog's gate: how long before an agreed instant a job starts.
    gate_lead: float = number(0.0, 0.0, 10.0)
    # Between two times at which the AdminComment of jobs that wait says why; 0: never.
    tell_interval: float = number(0.0, 0.0, 3600.0)
    gate_folder: Path | None = None  # where the gates of all nodes find that instant; None: on the service's host only
    waiting_folder: Path | None = None  # where hooks note which jobs wait; None: they do not


def read_settings(directory: Path, settings: Mapping[str, object]) -> SlurmSettings:
    """Read the settings. Relative paths, and the socket if it is not named, are in `directory`. SettingError."""
    return SlurmSettings(
        **common(directory, settings, ("Slurm", "squeue"), SlurmSettings, _OTHERS),
        conf=_conf(directory, settings),
        gate_folder=_gate_folder(directory, settings),
        waiting_folder=_path("waiting_folder", directory, settings),
        **read_gates(directory, settings, _CHOICES),
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
