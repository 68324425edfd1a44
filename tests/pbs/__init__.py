"""Real OpenPBS clusters, from the laboratory in deploy/pbs/lab."""
