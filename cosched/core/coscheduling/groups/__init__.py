"""Groups: more than two jobs, one on each of several domains, that start together (groups.md)."""
