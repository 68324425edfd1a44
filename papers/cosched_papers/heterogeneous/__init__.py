"""Unlike machines and clusters of them: a job runs on one, as its expected times say (docs/heterogeneous.md)."""
