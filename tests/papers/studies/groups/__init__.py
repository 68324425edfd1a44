"""The study of groups."""
