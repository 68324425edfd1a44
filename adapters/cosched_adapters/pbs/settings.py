"""The settings of the PBS manager: its own keys of [manager]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cosched_adapters.own.settings import GATE_KEYS, GATE_NUMBERS, GateSettings, read_gates
from cosched_adapters.setting_checks import COMMON_NUMBERS, common

_NUMBERS = {  # key: default, least, most; seconds
    **COMMON_NUMBERS,
    **GATE_NUMBERS,
    "guard": (0.3, 0.0, 10.0),
    "start_lead": (0.08, 0.0, 5.0),
}
_CHOICES = ("start",)  # only operators queue a running job again


@dataclass(frozen=True, slots=True, kw_only=True)
class PbsSettings(GateSettings):
    """The settings of the PBS manager; times are in seconds."""

    guard: float = 0.3  # how long the hook alone keeps others from the nodes of an offered job; then they are offline
    start_lead: float = 0.08  # how long before an agreed instant qrun is called, at most


def read_settings(directory: Path, settings: Mapping[str, object]) -> PbsSettings:
    """Read the settings. Relative paths, and the socket if it is not named, are in `directory`. SettingError."""
    return PbsSettings(
        **common(directory, settings, ("PBS", "qstat"), _NUMBERS, GATE_KEYS),
        **read_gates(directory, settings, _CHOICES),
    )
