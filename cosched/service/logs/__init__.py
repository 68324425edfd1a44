"""What a service writes to its log, and how often."""
