"""A laboratory of real Slurm clusters on one host, as any user: see README.md beside this file.

with Lab(nodes=4) as lab:
    job = lab["intrepid"].sbatch("sleep 5", "--nodes=2")
    lab["intrepid"].wait_for_state(job, "RUNNING")
"""

from deploy.lab.waiting import LabError, wait_for
from deploy.slurm.lab.cluster import Cluster, clear
from deploy.slurm.lab.configuration import Options
from deploy.slurm.lab.coupled import CoupledLab, Domain
from deploy.slurm.lab.laboratory import Lab
from deploy.slurm.lab.takedown import take_down

__all__ = ["Cluster", "CoupledLab", "Domain", "Lab", "LabError", "Options", "clear", "take_down", "wait_for"]
