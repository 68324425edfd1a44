"""Coupled laboratories of batch systems, as fixtures."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.lab.coupled import CoupledLab
from tests.gridengine import installed
from tests.live.coupled_labs import Coupled


def laboratory(
    *kinds: Any, lab: type[CoupledLab] = CoupledLab, clear: bool = False, **settings: Any
) -> tuple[Any, Any]:
    """Return two fixtures: the laboratory of a module, and the same for one test, after which nothing may be left.

    `kinds`: of the domains, for each run of the module's tests. `clear`: end the jobs of a test before.
    """

    @pytest.fixture(scope="module", params=kinds, ids="-".join)
    def running(request: pytest.FixtureRequest) -> Iterator[Coupled]:
        installed.check(*request.param)
        with tempfile.TemporaryDirectory(prefix="lab-") as folder, lab(Path(folder), request.param, **settings) as made:
            yield Coupled(made)

    @pytest.fixture
    def coupled(running: Coupled) -> Iterator[Coupled]:
        yield running
        for relay in getattr(running.lab, "relays", {}).values():
            relay.happening = lambda *_: None
        for domain in running.lab if clear else ():
            domain.clear()
        running.check_nothing_is_left()

    return running, coupled
