"""What tests of the core share."""

import pytest

from tests.core.driver import DomainA


@pytest.fixture
def a() -> DomainA:
    return DomainA()
