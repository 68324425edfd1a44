"""The figures of the reports, each with its numbers."""
