"""Schedulers of two or more domains together, each kind beside each other kind."""
