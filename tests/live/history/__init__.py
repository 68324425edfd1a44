"""Histories of real services: a plan of faults by a seed, work meanwhile, and a verdict by what the jobs noted."""
