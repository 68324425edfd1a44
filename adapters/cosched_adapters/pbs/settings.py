"""The settings of the PBS manager: its own keys of [manager]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cosched_adapters.own.settings import GATE_KEYS, GateSettings, read_gates
from cosched_adapters.setting_checks import common, number

_CHOICES = ("start",)  # only operators queue a running job again


@dataclass(frozen=True, slots=True, kw_only=True)
class PbsSettings(GateSettings):
    """The settings of the PBS manager; times are in seconds."""

    # How long the hook alone keeps others from the nodes of an offered job; then they are offline.
    guard: float = number(0.3, 0.0, 10.0)
    start_lead: float = number(0.08, 0.0, 5.0)  # how long before an agreed instant qrun is called, at most


def read_settings(directory: Path, settings: Mapping[str, object]) -> PbsSettings:
    """Read the settings. Relative paths, and the socket if it is not named, are in `directory`. SettingError."""
    gates = read_gates(directory, settings, _CHOICES)
    return PbsSettings(**common(directory, settings, ("PBS", "qstat"), PbsSettings, GATE_KEYS), **gates)
