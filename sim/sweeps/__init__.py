"""Sweeps: many replays of one kind, each independent of the others, by many workers, with results in one table."""
