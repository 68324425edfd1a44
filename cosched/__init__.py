"""cosched: jobs on different supercomputers start at the same moment."""

from cosched.version import VERSION

__version__ = VERSION
