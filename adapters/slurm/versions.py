"""What differs between versions of Slurm, by what `scontrol show config` says.

Tried: 22.05.8, 24.05.8 and 26.05.3; since when something is so was read from Slurm's history.
"""

from __future__ import annotations

import re

from cosched.adapters.slurm.parameters import Config, option, text

Version = tuple[int, int, int]
_VERSION = re.compile(r"([0-9]{1,3})\.([0-9]{1,2})(?:\.([0-9]{1,3}))?")
_DELAY_OPTION_SINCE = (25, 11, 0)
_RECONFIGURES_ANEW_SINCE = (23, 11, 0)
_KILLS_HOOKS_SINCE = ((25, 5, 7), (25, 11, 4))  # of these releases; of all later ones from the beginning
_EXPIRY, _LEAST_EXPIRY = 120, 5  # seconds: default and least of cred_expire


def version_of(config: Config) -> Version | None:
    """Major, minor, micro; None: not said."""
    match = _VERSION.match(text(config, "SLURM_VERSION"))
    return None if match is None else (int(match[1]), int(match[2]), int(match[3] or 0))


def requeue_delay(config: Config) -> int:
    """Seconds for which Slurm keeps a job back that it has requeued."""
    expiry = option(config, "AuthInfo", "cred_expire", _EXPIRY)
    delay = expiry if expiry >= _LEAST_EXPIRY else _EXPIRY
    if takes_requeue_delay(config):
        delay = option(config, "SchedulerParameters", "requeue_delay", delay)
    return int(delay) + 1


def takes_requeue_delay(config: Config) -> bool:
    """Whether SchedulerParameters has the option requeue_delay."""
    return (version_of(config) or (0, 0, 0)) >= _DELAY_OPTION_SINCE


def reconfigures_anew(config: Config) -> bool:
    """Whether `scontrol reconfigure` starts slurmctld again: hooks that are added count, those that wait are ended."""
    return (version_of(config) or (0, 0, 0)) >= _RECONFIGURES_ANEW_SINCE


def kills_hooks(config: Config) -> bool:
    """Whether a slurmctld that is stopped or reconfigured kills hooks, and takes their jobs for started.

    Slurm 25.05.7 and 25.11.4 moved the end of all scripts before the last saving of the state.
    """
    version = version_of(config)
    if version is None:
        return False
    since = next((first for first in _KILLS_HOOKS_SINCE if first[:2] == version[:2]), None)
    return version >= since if since is not None else version > _KILLS_HOOKS_SINCE[-1]
