"""The settings of the local manager: its own keys of [manager]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cosched_adapters.manager import SettingError

NAMES = "names"  # no key of a configuration: how the domain's scheduler calls its machines
MAX_SLOTS = 65536
MAX_GRACE = 3600.0


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """The settings of the local manager."""

    slots: int  # jobs of one node that can run at once
    spool: Path  # folder of its own, absolute
    grace: float = 5.0  # seconds between SIGTERM and SIGKILL
    cpu_percent: tuple[int, ...] = ()  # of one processor, of each slot; empty: no limits
    names: tuple[str, ...] = ()  # of the slots; empty: slot0 and so on

    @property
    def node_names(self) -> Sequence[str]:
        """The name of each slot, as jobs know it."""
        return self.names or [f"slot{slot}" for slot in range(self.slots)]


def read_settings(directory: Path, settings: Mapping[str, object]) -> LocalSettings:
    """Read the settings. The spool is in `directory` unless `spool` names another place. SettingError."""
    names = settings.get(NAMES, ())
    known = {"slots", "spool", "grace", "cpu_percent"}
    unknown = sorted(settings.keys() - (known | {NAMES} if isinstance(names, tuple) else known))
    if unknown:
        raise SettingError(str(unknown[0]), "is not a setting of the local manager (slots, spool, grace, cpu_percent)")
    assert isinstance(names, tuple)
    slots = settings.get("slots", len(names) or None)
    if not isinstance(slots, int) or isinstance(slots, bool) or not 1 <= slots <= MAX_SLOTS:
        raise SettingError("slots", f"must be a whole number from 1 to {MAX_SLOTS}")
    grace = settings.get("grace", 5.0)
    if not isinstance(grace, int | float) or isinstance(grace, bool) or not 0 <= grace <= MAX_GRACE:
        raise SettingError("grace", f"must be seconds from 0 to {MAX_GRACE:.0f}")
    percent = _cpu_percent(settings.get("cpu_percent", []), slots)
    return LocalSettings(slots, _spool(directory, settings.get("spool", "jobs")), float(grace), percent, names)


def _cpu_percent(value: object, slots: int) -> tuple[int, ...]:
    if not isinstance(value, list) or (value and len(value) != slots):
        raise SettingError("cpu_percent", f"must be a list of {slots} numbers, one for each slot")
    if not all(isinstance(part, int) and not isinstance(part, bool) and 1 <= part <= 100 for part in value):
        raise SettingError("cpu_percent", "must have whole numbers from 1 to 100, in percent of one processor")
    return tuple(value)


def _spool(directory: Path, value: object) -> Path:
    if not isinstance(value, str) or not value or "\0" in value:
        raise SettingError("spool", "must be the path of a folder")
    return (directory / value).absolute()
