"""The settings of a user's own service, by which its gates find it: keys of [manager]."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosched_adapters.manager import SettingError
from cosched_adapters.setting_checks import QueueSettings, number, path_of

GATE_KEYS = ("gates", "without_service")


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSettings(QueueSettings):
    """The settings of services with gates; times are in seconds."""

    gates: Path | None = None  # of a user's own service: where the gates of its jobs find it; None: hooks do
    gate_patience: float = number(120.0, 5.0, 86400.0)  # how long such a gate waits for a service
    without_service: str = "start"  # what it does then: start its job alone, or requeue it
    hold_time: float = 0.0  # by how much the time limits of jobs with gates are raised until they start
    # At which gates reach the service if their nodes do not share its folder; 0: none.
    gate_port: float = number(0.0, 0.0, 65535.0)


def read_gates(directory: Path, settings: Mapping[str, object], choices: Collection[str]) -> dict[str, Any]:
    """Return the settings GATE_KEYS; `choices`: what gates can do without a service. SettingError."""
    without = settings.get("without_service", "start")
    if without not in choices:
        raise SettingError("without_service", f"must be {' or '.join(choices)}")
    gates = path_of("gates", directory, settings["gates"]) if "gates" in settings else None
    return {"gates": gates, "without_service": str(without)}
