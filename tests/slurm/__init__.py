"""Real Slurm clusters, from the laboratory in deploy/slurm/lab."""
