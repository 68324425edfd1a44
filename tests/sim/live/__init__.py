"""Replays by real services."""
