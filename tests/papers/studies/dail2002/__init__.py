"""The study of choosing machines."""
