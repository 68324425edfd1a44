"""Checks of what slurmctld has read of slurm.conf, and of what its next restart or reconfiguration does to holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cosched_adapters.findings import SHELL, Finding, ok, warning
from cosched_adapters.slurm.doctor.scripts import PROLOG
from cosched_adapters.slurm.parameters import Config, text
from cosched_adapters.slurm.versions import kills_hooks, requeue_delay, restarts_on_reconfigure, takes_requeue_delay

_DIFFERENT = "different"  # how HASH_VAL begins if slurmctld has read a slurm.conf other than the present one
_BOOTS_RESOLUTION = 1  # seconds: BOOT_TIME is rounded down
_RESTART = "systemctl restart slurmctld"
_FEW = 5  # seconds


def check_reading(config: Config) -> Iterator[Finding]:
    """Check whether slurmctld uses this slurm.conf, and what happens to holds when it is restarted or reconfigured."""
    yield from _check_read(config)
    yield _check_restarts(config)
    yield _check_delay(config)


def _check_read(config: Config) -> Iterator[Finding]:
    restarts = restarts_on_reconfigure(config)
    if text(config, "HASH_VAL").lower().startswith(_DIFFERENT):
        found = "slurmctld has read a slurm.conf other than the present one"
        change = "let slurmctld read it" if restarts else "restart slurmctld; a reconfiguration does not add hooks"
        yield warning("slurm.conf", found, change, SHELL, "scontrol reconfigure" if restarts else _RESTART)
    elif not restarts and _changed_since_start(config):
        found = (
            f"slurm.conf has changed since slurmctld was started, which has only read it again: a {PROLOG.parameter}, "
            "JobCompType or JobSubmitPlugins that was added is shown, but not called"
        )
        yield warning("reconfigured", found, "restart slurmctld, if one was added", SHELL, _RESTART)


def _changed_since_start(config: Config) -> bool:
    started = text(config, "BOOT_TIME")  # in seconds since 1970: we set SLURM_TIME_FORMAT
    try:
        changed = Path(text(config, "SLURM_CONF")).stat().st_mtime
    except OSError:
        return False
    return started.isdecimal() and changed > int(started) + _BOOTS_RESOLUTION


def _check_restarts(config: Config) -> Finding:
    subject, version = "restarts", text(config, "SLURM_VERSION")
    if kills_hooks(config):
        lost = "the service requeues such jobs, but those with --no-requeue are lost"
        found = f"Slurm {version} forgets holds when slurmctld is restarted or reconfigured: {lost}"
        lines = "cosched drain", _RESTART, "cosched resume"
        return warning(subject, found, "drain before, resume afterwards", SHELL, *lines)
    kept = "a restart of slurmctld by systemd ends hooks, too: the service requeues their jobs, and they hold again"
    if restarts_on_reconfigure(config):
        return ok(subject, f"{kept}; scontrol reconfigure is a restart, but keeps holds")
    return ok(subject, f"{kept}; scontrol reconfigure does not touch holds")


def _check_delay(config: Config) -> Finding:
    delay = requeue_delay(config)
    found = f"{delay} s: Slurm keeps a requeued job back this long, unless the service runs and shortens the time"
    if delay > _FEW and takes_requeue_delay(config):
        found += "; requeue_delay=1 among SchedulerParameters avoids that"
    return ok("requeue delay", found)
