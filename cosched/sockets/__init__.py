"""Limits on accepted connections: how many, how often, and from whom."""
