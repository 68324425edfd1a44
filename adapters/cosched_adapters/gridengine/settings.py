"""The settings of the Grid Engine manager: its own keys of [manager]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cosched_adapters.setting_checks import QueueSettings, common, path_of


@dataclass(frozen=True, slots=True, kw_only=True)
class GridEngineSettings(QueueSettings):
    """The settings of the Grid Engine manager."""

    records: Path  # the folder of what must outlive the service: which jobs were let go


def read_settings(directory: Path, settings: Mapping[str, object]) -> GridEngineSettings:
    """Read the settings. Relative paths, and those that are not named, are in `directory`. SettingError."""
    shared = common(directory, settings, ("Grid Engine", "qstat"), GridEngineSettings, ["records"])
    records = path_of("records", directory, settings.get("records", "gridengine-jobs"))
    return GridEngineSettings(records=records, **shared)
