"""A laboratory of a real Grid Engine cluster on one host, for root: `with GridEngineCluster(folder) as cluster`."""

from deploy.gridengine.lab.cluster import GridEngineCluster, install_prolog, is_installed

__all__ = ["GridEngineCluster", "install_prolog", "is_installed"]
