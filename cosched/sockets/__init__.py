"""Accepted connections, whoever listens: how many, how often, and of whom."""
