"""When jobs start, why they wait and who pays, beside a real PBS: what PBS says of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cosched.client import Client, Explanation
from deploy.lab.coupled import CoupledLab, Domain
from tests.live.accounts import check_accounts, has_budget
from tests.live.coupled import PATIENCE
from tests.live.coupled_labs import Coupled

pytestmark = pytest.mark.soak


@pytest.fixture
def coupled() -> Iterator[Coupled]:
    with (
        tempfile.TemporaryDirectory(prefix="pbs-") as folder,
        CoupledLab(Path(folder), ("pbs", "local"), nodes=2, release_interval=0, max_held_fraction=1) as lab,
    ):
        lab.serve(("hold", "hold"))
        yield Coupled(lab)


def qsub(domain: Domain, pair: str, *options: str) -> str:
    given = ("-lselect=1:ncpus=1", "-lwalltime=600", f"-lpair={pair}")
    return str(domain.cluster.qsub("sleep 60", *given, *options)).partition(".")[0]  # type: ignore[attr-defined]


def test_places_in_pbs_s_queue(coupled: Coupled) -> None:
    here = coupled.here
    _, _, *waiting = [qsub(here, name) for name in ("p", "q", "r", "s")]
    with Client(here.service.server, timeout=PATIENCE) as client:

        def placed() -> list[Explanation]:
            told = client.explain_all(waiting)
            return told if len(told) == 2 and all(one.job.position for one in told) else []

        told = coupled.until(placed, "the last two jobs to have places")
        assert [(one.job.position, one.job.queued) for one in told] == [(1, 2), (2, 2)]
        assert all(one.job.position_at is not None for one in told)
        for job in client.jobs():
            client.cancel(job)


@pytest.mark.parametrize("option", ["-A", "-P"])
def test_pbs_s_accounts_are_charged_and_have_budgets(coupled: Coupled, option: str) -> None:
    here = coupled.here
    has_budget(here.service)
    with Client(here.service.server, timeout=PATIENCE) as client:
        check_accounts(client, coupled.until, lambda pair, account: qsub(here, pair, option, account))
