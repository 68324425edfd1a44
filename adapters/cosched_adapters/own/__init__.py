"""What users' own services have in common, whatever schedules their jobs: gates in the place of hooks."""
