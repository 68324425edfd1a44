"""Slurm as the resource manager of a domain; its hooks (deploy/slurm/hooks) say when a job is ready."""
