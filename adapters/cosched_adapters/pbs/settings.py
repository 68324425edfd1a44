"""The settings of the PBS manager: its own keys of [manager]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cosched_adapters.manager import SettingError
from cosched_adapters.setting_checks import COMMON_NUMBERS, folder_of_commands, hook_socket, seconds

_NUMBERS = COMMON_NUMBERS | {  # key: default, least, most; seconds
    "guard": (0.3, 0.0, 10.0),
    "start_lead": (0.08, 0.0, 5.0),
}
_PATHS = ("bin", "hook_socket")


@dataclass(frozen=True, slots=True)
class PbsSettings:
    """The settings of the PBS manager; times are in seconds."""

    hook_socket: Path  # where the server's hook finds the service, absolute
    bin: Path | None = None  # the folder of PBS's commands; None: those in PATH
    backoff: float = 30.0  # how long a job that has yielded is not offered again
    try_patience: float = 2.5  # how long PBS may take to offer a job that a peer wants to start
    poll_interval: float = 30.0  # between two looks at the queue if nothing happens
    command_timeout: float = 15.0  # how long a command of PBS may take
    guard: float = 0.3  # how long the hook alone keeps others from the nodes of an offered job; then they are offline
    start_lead: float = 0.08  # how long before an agreed instant qrun is called, at most


def read_settings(directory: Path, settings: Mapping[str, object]) -> PbsSettings:
    """Read the settings. Relative paths, and the socket if it is not named, are in `directory`. SettingError."""
    known = sorted([*_PATHS, *_NUMBERS])
    for key in sorted(settings.keys() - set(known)):
        raise SettingError(str(key), f"is not a setting of the PBS manager ({', '.join(known)})")
    return PbsSettings(
        hook_socket(directory, settings),
        folder_of_commands(directory, settings, "PBS", "qstat"),
        **seconds(settings, _NUMBERS),
    )
