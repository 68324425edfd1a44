"""The service's log: formats, limits, and how often it repeats itself."""
