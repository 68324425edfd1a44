"""cosched: jobs on different supercomputers start at the same moment."""

__version__ = "0.1.0"
