"""What sites install: distributions, packages, units and configurations, in new folders and environments."""
