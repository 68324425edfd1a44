"""Checks of how soon Slurm looks at a job whose mate wants to start: a try succeeds only within try_patience.

Measured with Slurm 22.05 (from `scontrol update starttime=now` to the hook): the main scheduler runs at most once in
batch_sched_delay, and slurmctld checks each second whether it is due; `defer` changes nothing. The main scheduler skips
all jobs of a partition behind one that waits for nodes. Backfilling looks at those, once in bf_interval (8 s: after 3
and 8 s; 1 s: after 0.2 and 0.4 s); without backfilling nothing does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from cosched_adapters.findings import Finding, ok, problem, warning
from cosched_adapters.slurm.parameters import Config, number, option, text, with_options
from cosched_adapters.slurm.settings import SlurmSettings

_CONF, _PARAMETERS = "slurm.conf", "SchedulerParameters"
_LOOP = 1.0  # seconds between slurmctld's checks whether scheduling is due
_CALL = 1.0  # seconds that a peer must wait for the answer beyond the time that Slurm may take
_PEERS_WAIT = 5.0  # seconds: the default of peer_timeout
_BACKFILL = "sched/backfill"


def check_tries(config: Config, settings: SlurmSettings) -> Iterator[Finding]:
    """Check whether tries to start a mate can succeed."""
    patience = settings.try_patience
    pace = _Pace(config, patience)
    yield pace.batch_delay()
    yield pace.backfilling()
    yield from pace.main_interval()
    yield from pace.pause()
    complete = number(config, "CompleteWait") or 0
    if complete > patience:
        found = f"{complete:g} s: while any job completes, tries to start a mate fail"
        yield warning("CompleteWait", found, "set it to 0, if nodes need not be kept together", _CONF, "CompleteWait=0")
    yield _answer_in_time(patience)


class _Pace:
    """Slurm's intervals and the patience of a try. One line proposes all changes, since only the last line counts."""

    def __init__(self, config: Config, patience: float) -> None:
        self._patience = patience
        self._delay = option(config, _PARAMETERS, "batch_sched_delay", 3)
        self._main = option(config, _PARAMETERS, "sched_interval", 60)
        self._pause = option(config, _PARAMETERS, "sched_min_interval", 2) / 1e6
        self._backfill = option(config, _PARAMETERS, "bf_interval", 30)
        self._type = text(config, "SchedulerType") or _BACKFILL
        self._line = with_options(config, _PARAMETERS, self._better())

    def _better(self) -> dict[str, str]:
        spare = max(0.0, self._patience - _LOOP)
        options = {}
        if self._delay > spare:
            options["batch_sched_delay"] = str(math.floor(spare))
        if self._pause > spare:
            options["sched_min_interval"] = str(int(spare * 1e6))
        if self._main < 0:
            options["sched_interval"] = "60"
        if not 0 < self._backfill <= self._patience:
            options["bf_interval"] = str(max(1, math.floor(self._patience)))
        return options

    def batch_delay(self) -> Finding:
        subject, worst = "batch_sched_delay", self._delay + _LOOP
        found = f"{self._delay:g} s: Slurm looks at a job within {worst:g} s, and a try waits for {self._patience:g} s"
        if worst <= self._patience:
            return ok(subject, found)
        change = "let Slurm schedule sooner, or tries wait longer (try_patience in [manager])"
        return warning(subject, f"{found}: many tries to start a mate fail", change, _CONF, self._line)

    def backfilling(self) -> Finding:
        subject, behind = "bf_interval", "a job behind one that waits for nodes"
        if self._type != _BACKFILL:
            found = f"{self._type}: a try to start {behind} fails"
            return warning("SchedulerType", found, "let Slurm backfill", _CONF, f"SchedulerType={_BACKFILL}")
        waits = f"a try waits for {self._patience:g} s"
        found = f"{self._backfill:g} s: Slurm looks at {behind} only this often, and {waits}"
        if 0 < self._backfill <= self._patience:
            return ok(subject, found)
        change = "backfill more often, if slurmctld has the time; otherwise such pairs start later"
        return warning(subject, f"{found}: most tries to start such a mate fail", change, _CONF, self._line)

    def main_interval(self) -> Iterator[Finding]:
        if self._main < 0:
            found = "-1: the main scheduler is off, so hardly any try to start a mate succeeds"
            yield problem("sched_interval", found, "let it run", _CONF, self._line)

    def pause(self) -> Iterator[Finding]:
        if self._pause + _LOOP > self._patience:
            found = f"{self._pause:g} s between two runs of the scheduler, and a try waits for {self._patience:g} s"
            yield warning("sched_min_interval", found, "shorten it", _CONF, self._line)


def _answer_in_time(patience: float) -> Finding:
    needed = patience + _CALL
    found = f"{patience:g} s: peers must wait {needed:g} s for an answer (their peer_timeout; default {_PEERS_WAIT:g})"
    if needed <= _PEERS_WAIT:
        return ok("try_patience", found)
    change = "let all peers wait this long, in their files, or shorten it here"
    return warning("try_patience", found, change, "[coscheduling] of each peer's file", f"peer_timeout = {needed:g}")
