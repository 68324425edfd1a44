"""The settings of the Grid Engine manager: its own keys of [manager]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cosched_adapters.manager import SettingError
from cosched_adapters.setting_checks import COMMON_NUMBERS, folder_of_commands, hook_socket, path_of, seconds

_PATHS = ("bin", "hook_socket", "records")


@dataclass(frozen=True, slots=True)
class GridEngineSettings:
    """The settings of the Grid Engine manager; times are in seconds."""

    hook_socket: Path  # where the prologs find the service, absolute
    records: Path  # the folder of what must outlive the service: which jobs were let go
    bin: Path | None = None  # the folder of Grid Engine's commands; None: those in PATH
    backoff: float = 30.0  # how long a job that has yielded is held back
    try_patience: float = 2.5  # how long Grid Engine may take to offer a job that a peer wants to start
    poll_interval: float = 30.0  # between two looks at the queue if nothing happens
    command_timeout: float = 15.0  # how long a command of Grid Engine may take


def read_settings(directory: Path, settings: Mapping[str, object]) -> GridEngineSettings:
    """Read the settings. Relative paths, and those that are not named, are in `directory`. SettingError."""
    known = sorted([*_PATHS, *COMMON_NUMBERS])
    for key in sorted(settings.keys() - set(known)):
        raise SettingError(str(key), f"is not a setting of the Grid Engine manager ({', '.join(known)})")
    return GridEngineSettings(
        hook_socket(directory, settings),
        path_of("records", directory, settings.get("records", "gridengine-jobs")),
        folder_of_commands(directory, settings, "Grid Engine", "qstat"),
        **seconds(settings, COMMON_NUMBERS),
    )
