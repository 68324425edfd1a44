"""What the Slurm that is tried does, where versions differ."""

from cosched_adapters.slurm.commands import parse_config
from cosched_adapters.slurm.versions import version_of
from deploy.slurm.lab import Cluster


def config_of(cluster: Cluster) -> dict[str, str]:
    """What `scontrol show config` says; for `adapters.slurm.versions`."""
    return parse_config(cluster.scontrol("show", "config").encode())


def resizes_often(config: dict[str, str]) -> bool:
    """Whether a job's size can change more than once without slurmdbd: since 24.11, by Slurm's sources."""
    return (version_of(config) or (0, 0, 0)) >= (24, 11, 0)
