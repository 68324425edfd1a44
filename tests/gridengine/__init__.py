"""Tests with a real Grid Engine cluster, beyond what all batch systems promise (tests/conformance)."""
