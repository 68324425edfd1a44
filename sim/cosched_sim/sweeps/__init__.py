"""Sweeps: many independent replays of one kind, run by many workers, with the results in one table."""
