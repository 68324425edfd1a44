"""What schedulers promise."""
