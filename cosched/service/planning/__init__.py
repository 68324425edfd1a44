"""When jobs are expected to start, why they wait, and how good such estimates have been."""
