"""A slow, obvious simulator of the design pages, to compare the production code with, job for job.

It shares no code with `cosched` or `sim`. Comments quote the pages coscheduling.md, scheduling.md
and meet.md.
"""

from .model import RefDomain, RefJob, RefOutcome
from .world import World, simulate

__all__ = ["RefDomain", "RefJob", "RefOutcome", "World", "simulate"]
