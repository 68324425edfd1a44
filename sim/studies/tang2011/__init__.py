"""Repeats section V of Tang et al., Job Coscheduling on Coupled High-End Computing Systems (2011)."""
