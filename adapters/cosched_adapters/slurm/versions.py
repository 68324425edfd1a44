"""Differences between versions of Slurm, as far as `scontrol show config` shows them.

Tried: 22.05.8, 24.05.8, 25.11.7 and 26.05.3. The versions in which something changed are from Slurm's history.
"""

from __future__ import annotations

import re

from cosched_adapters.slurm.parameters import Config, option, text

Version = tuple[int, int, int]
_VERSION = re.compile(r"([0-9]{1,3})\.([0-9]{1,2})(?:\.([0-9]{1,3}))?")
_DELAY_OPTION_SINCE = (25, 11, 0)
_RECONFIGURES_ANEW_SINCE = (23, 11, 0)
_SHOWS_EXCLUSIVE_SINCE = (26, 5, 0)
_KILLS_HOOKS_SINCE = ((25, 5, 7), (25, 11, 4))  # in these release series; in later series always
_EXPIRY, _LEAST_EXPIRY = 120, 5  # seconds: default and least of cred_expire


def version_of(config: Config) -> Version | None:
    """Return major, minor and micro number; None if they are not shown."""
    match = _VERSION.match(text(config, "SLURM_VERSION"))
    return None if match is None else (int(match[1]), int(match[2]), int(match[3] or 0))


def requeue_delay(config: Config) -> int:
    """Return for how many seconds Slurm keeps a requeued job back."""
    expiry = option(config, "AuthInfo", "cred_expire", _EXPIRY)
    delay = expiry if expiry >= _LEAST_EXPIRY else _EXPIRY
    if takes_requeue_delay(config):
        delay = option(config, "SchedulerParameters", "requeue_delay", delay)
    return int(delay) + 1


def takes_requeue_delay(config: Config) -> bool:
    """Return whether SchedulerParameters has the option requeue_delay."""
    return (version_of(config) or (0, 0, 0)) >= _DELAY_OPTION_SINCE


def shows_exclusive(config: Config) -> bool:
    """Return whether squeue has the field Exclusive; OverSubscribe does not say any more whether a job shares nodes."""
    return (version_of(config) or (0, 0, 0)) >= _SHOWS_EXCLUSIVE_SINCE


def restarts_on_reconfigure(config: Config) -> bool:
    """Return whether `scontrol reconfigure` restarts slurmctld, which uses new hooks and ends waiting ones."""
    return (version_of(config) or (0, 0, 0)) >= _RECONFIGURES_ANEW_SINCE


def kills_hooks(config: Config) -> bool:
    """Return whether a slurmctld that is stopped or reconfigured kills hooks, and counts their jobs as started.

    Since 25.05.7 and 25.11.4 Slurm ends all scripts before it saves its state for the last time.
    """
    version = version_of(config)
    if version is None:
        return False
    since = next((first for first in _KILLS_HOOKS_SINCE if first[:2] == version[:2]), None)
    return version >= since if since is not None else version > _KILLS_HOOKS_SINCE[-1]
