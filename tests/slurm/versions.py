"""What the Slurm that is tried does, where versions differ."""

from cosched.adapters.slurm.commands import parse_config
from deploy.slurm.lab import Cluster


def config_of(cluster: Cluster) -> dict[str, str]:
    """What `scontrol show config` says; for `adapters.slurm.versions`."""
    return parse_config(cluster.scontrol("show", "config").encode())
