"""The scenes of `make slurm-demo` and `make pbs-demo`: a hold, a yield, a deadlock that ends."""
