"""Studies groups (groups.md): jobs on two to five machines that start together, beside the same jobs in pairs."""
