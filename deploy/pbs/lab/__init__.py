"""A laboratory of real OpenPBS clusters on one host, for root: see README.md beside this file.

with PbsCluster("mira", folder) as cluster:
    job = cluster.qsub("sleep 5", "-lselect=2:ncpus=1")
    cluster.wait_for_state(job, "R")
"""

from deploy.pbs.lab.cluster import PbsCluster, is_installed
from deploy.pbs.lab.installed_hook import install_hook

__all__ = ["PbsCluster", "install_hook", "is_installed"]
