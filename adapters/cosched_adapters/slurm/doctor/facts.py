"""The facts that the checks of a cluster use."""

from __future__ import annotations

from dataclasses import dataclass

from cosched_adapters.permissions import Account
from cosched_adapters.slurm.parameters import Config
from cosched_adapters.slurm.settings import SlurmSettings


@dataclass(frozen=True, slots=True)
class Facts:
    """A cluster and its service."""

    config: Config  # as scontrol shows it
    settings: SlurmSettings
    service: Account  # the service's user
    slurm_user: Account
    serving: bool = False  # whether the service runs
    elsewhere: str | None = None  # the address of a node other than this host, if there is a gate to check
