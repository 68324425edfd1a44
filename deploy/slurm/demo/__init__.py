"""A minute with two real Slurm clusters whose jobs are coscheduled: `python -m deploy.slurm.demo`."""
