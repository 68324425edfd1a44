"""Certificates: a small authority, and what PEM files hold."""
