"""A fake domain for the commands, at the address that COSCHED_SERVER names."""

from tests.client.conftest import address, domain, running

__all__ = ["address", "domain", "running"]
