"""Molding (molding.md): the scheduler chooses the size of a job when it starts."""
