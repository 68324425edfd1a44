"""Slurm as the resource manager of a domain. Slurm's hooks (deploy/slurm/hooks) say when a job is ready."""
