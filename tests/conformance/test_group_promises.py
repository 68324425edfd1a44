"""The batch systems of conftest.py keep their promises: see `cosched.conformance.adapters`."""

from cosched.conformance.adapters.test_group_promises import *  # noqa: F403
