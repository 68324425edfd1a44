"""The figures of the reports, each with the numbers behind it."""
