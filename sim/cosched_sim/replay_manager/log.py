"""The job log of a replay, from keys of [manager]. A module of its own, since numpy is an optional dependency."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from cosched.validation.mistakes import first_mistake
from cosched_adapters.manager import SettingError
from cosched_sim.workload.job_log import JobLog, Overrun


class ReplayedLog(JobLog):
    """The job log of one domain and the file of pairs."""

    overrun: Overrun = "extend"
    pairs: Path | None = None


def replayed_log(values: Mapping[str, object]) -> ReplayedLog:
    """Check the values, and return the log; SettingError."""
    try:
        return ReplayedLog.model_validate(values)
    except ValidationError as error:
        mistake = first_mistake(error)
        raise SettingError(str(mistake.path[0] if mistake.path else "trace"), mistake.reason) from None
