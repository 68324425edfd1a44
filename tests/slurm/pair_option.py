"""Slurm's commands with `--pair`: cosched-spank and cli_filter.lua in a cluster of a laboratory."""

import re
import shutil
import subprocess

from deploy.slurm.lab import Cluster
from deploy.slurm.lab.installed_hooks import SOURCES

PLUGINS = ("CliFilterPlugins=lua",)  # of slurm.conf


def install(cluster: Cluster) -> None:
    """Build and name the plug-ins; commands use them from now on."""
    shutil.copy(SOURCES / "cli_filter.lua", cluster.directory)
    version = re.findall(r"[0-9]+", cluster.run("sbatch", "--version"))
    number = f"0x{''.join(f'{int(part):02x}' for part in version[:3])}"
    plugin = cluster.directory / "cosched-spank.so"
    make = ["cc", "-shared", "-fPIC", f"-DSLURM_VERSION_NUMBER={number}", "-o", plugin, SOURCES / "cosched-spank.c"]
    subprocess.run(make, check=True)
    (cluster.directory / "plugstack.conf").write_text(f"required {plugin}\n")
