"""Fixtures for the tests with real clusters of Grid Engine."""

from tests.live.forked_labs import forked_services

__all__ = ["forked_services"]
