"""A minute with a real PBS cluster and a real Slurm cluster, coscheduled: `python -m deploy.pbs.demo`."""
