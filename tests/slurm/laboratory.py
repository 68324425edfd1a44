"""Coupled laboratories of Slurm clusters, as fixtures."""

from collections.abc import Iterator
from typing import Any

import pytest

from deploy.slurm.lab import CoupledLab
from tests.slurm.cosched_hooks import check_for_compiler
from tests.slurm.coupled import Coupled
from tests.slurm.coupled_checks import Served, check_nothing_is_left, reservations_of


def laboratory(
    kind: type[Coupled] = Coupled,
    lab: type[CoupledLab] = CoupledLab,
    *,
    serve: tuple[str, str] | None = None,
    for_others: bool = False,
    strict: bool = True,
    **settings: Any,
) -> tuple[Any, Any]:
    """Return two fixtures: the laboratory of a module, and the same for one test, whose jobs are ended afterwards.

    `serve`: schemes, of services that are up from the beginning. `for_others`: other users reach the sockets, and their
    jobs run. `strict`: nothing may be left after a test.
    """

    @pytest.fixture(scope="module")
    def running() -> Iterator[Coupled]:
        check_for_compiler()
        with lab(**settings) as made:
            for folder in [made.directory, *(each.cluster.directory for each in made)] if for_others else ():
                folder.chmod(0o755)
            found = kind(made)
            if serve is not None:
                assert isinstance(found, Served)
                found.serve(serve)
            yield found

    @pytest.fixture
    def coupled(running: Coupled) -> Iterator[Coupled]:
        yield running
        for relay in getattr(running.lab, "relays", {}).values():
            relay.happening = lambda *_: None
        running.lab.clear()
        if strict:
            running.until(lambda: not any(map(reservations_of, running.lab)), "no reservation")
            check_nothing_is_left(running)

    return running, coupled
