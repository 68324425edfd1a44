"""The studies of papers."""
