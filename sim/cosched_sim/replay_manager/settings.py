"""The settings of the replay manager: its own keys of [manager].

    trace = "FILE"           job log; also format, skip_bad, columns, timezone, runs, partition_limit, nodes,
                             procs_per_node, cut, load, scale, overrun, as for a replay
    pairs = "FILE"           CSV: a column for each domain, a row of two job ids for each pair
    off = ["NAME", ...]      other domains that do not coschedule, though pairs name them: their jobs are not mates
    clock = "real"           the wall clock, from `start` on `speed` times as fast
    start = INSTANT          when the trace's time 0 is or was (past events happen at once); the same in all domains
    speed = 60               seconds of the trace in one second (1)
    clock = "lockstep"       the instant that a conductor writes into the file `time`
    events = true            with that clock: note what happens, for the conductor (false)

Relative paths are relative to the folder of the domain's database.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.schedulers.keys import SchedulerKeys
from cosched_adapters.loading import SCHEDULER
from cosched_adapters.manager import SettingError
from cosched_adapters.replay_time import ScaledTime, SharedTime, open_shared_time

if TYPE_CHECKING:
    from cosched_sim.replay_manager.log import ReplayedLog

MAX_SPEED = 10_000.0
READING = ("format", "skip_bad", "columns", "timezone", "runs", "partition_limit")
MACHINE = ("trace", *READING, "nodes", "procs_per_node", "cut", "load", "scale")
CLOCKS = {"real": ("start", "speed"), "lockstep": ("time", "events")}
KEYS = (*MACHINE, "overrun", "pairs", "off", "clock", *CLOCKS["real"], *CLOCKS["lockstep"])


@dataclass(frozen=True, slots=True)
class ReplaySettings:
    """The settings of the replay manager. The trace's time 0 is at `start` by `time`."""

    log: ReplayedLog
    off: frozenset[str]
    time: SharedTime | ScaledTime
    start: int
    scheduler: SchedulerKeys
    events: bool = False


def read_settings(domain: str, folder: Path, settings: Mapping[str, object]) -> ReplaySettings:
    """Read the settings of `domain`; SettingError. Relative paths are relative to `folder`."""
    scheduler = settings.get(SCHEDULER, None)
    if not isinstance(scheduler, SchedulerKeys):
        scheduler = SchedulerKeys()
    for key in settings.keys() - {SCHEDULER}:
        if key not in KEYS:
            raise SettingError(str(key), f"is not a setting of the replay manager ({', '.join(KEYS)})")
    clock = settings.get("clock")
    if clock not in CLOCKS:
        raise SettingError("clock", f"must be one of {', '.join(CLOCKS)}")
    foreign = next((key for name, keys in CLOCKS.items() if name != clock for key in keys if key in settings), None)
    if foreign is not None:
        raise SettingError(foreign, f"has no meaning with the clock {clock}")
    log, off = _log(domain, folder, settings), _off(settings.get("off", []))
    if clock == "lockstep":
        time = open_shared_time(_path(folder, "time", settings.get("time")))
        return ReplaySettings(log, off, time, 0, scheduler, _events(settings.get("events", False)))
    if (kind := scheduler.scheduler_kind).capabilities.other_sizes:
        why = f"{kind.name}: jobs have other sizes in lock-step only (`cosched replay --live`)"
        raise SettingError(SCHEDULER, why)
    start = _start(settings.get("start"))
    return ReplaySettings(log, off, ScaledTime(start, _speed(settings.get("speed", 1))), start, scheduler)


def _log(domain: str, folder: Path, settings: Mapping[str, object]) -> ReplayedLog:
    from cosched_sim.replay_manager.log import replayed_log  # needs numpy

    values = {key: settings[key] for key in (*MACHINE, "overrun") if key in settings}
    values |= {"name": domain, "trace": _path(folder, "trace", settings.get("trace"))}
    if "pairs" in settings:
        values["pairs"] = _path(folder, "pairs", settings["pairs"])
    return replayed_log(values)


def _path(folder: Path, key: str, value: object) -> Path:
    if not isinstance(value, str) or not value or "\0" in value:
        raise SettingError(key, "must be the path of a file" if value is not None else "missing: which file?")
    return (folder / value).absolute()


def _off(value: object) -> frozenset[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise SettingError("off", "must be a list of names of domains")
    return frozenset(value)


def _events(value: object) -> bool:
    if not isinstance(value, bool):
        raise SettingError("events", "must be true or false")
    return value


def _start(value: object) -> int:
    """Return an instant in seconds since 1970. It is given as a number, a TOML date and time, or RFC 3339 text."""
    if isinstance(value, str):
        value = _instant(value)
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = int(value.timestamp())
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        problem = "missing: when is time 0 of the trace?" if value is None else "must be an instant with a time zone"
        raise SettingError("start", problem)
    return value


def _instant(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise SettingError("start", f"{text[:64]!a} is not an instant such as 2026-01-31T12:00:00Z") from None


def _speed(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= MAX_SPEED:
        raise SettingError("speed", f"must be a number above 0, at most {MAX_SPEED:.0f}")
    return float(value)
