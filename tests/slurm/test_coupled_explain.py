"""When jobs start, why they wait and who pays, beside real Slurm clusters: what Slurm says of its own."""

from collections.abc import Iterator
from datetime import datetime

import pytest

from cosched.client import Client, Explanation
from deploy.slurm.lab import CoupledLab
from tests.live.accounts import check_accounts, has_budget
from tests.live.coupled import PATIENCE
from tests.live.workloads import Work
from tests.slurm.cosched_hooks import check_for_compiler
from tests.slurm.coupled_checks import START, Served

pytestmark = pytest.mark.soak
P = Work("p", 1, 0.1)


@pytest.fixture
def coupled() -> Iterator[Served]:
    check_for_compiler()
    with CoupledLab(options={"nodes": 2}, services=False, **START) as lab:
        found = Served(lab)
        found.serve()
        yield found


def test_slurm_s_estimate_and_its_reason(coupled: Served) -> None:
    here, there = coupled.here, coupled.there
    here.cluster.sbatch("#!/bin/sh\nsleep 300\n", "--nodes=2", "--time=5")
    job, mate = coupled.submit(here, P, "--time=3"), coupled.submit(there, P)
    coupled.until_state(there, mate, "holding")
    with Client(here.service.server, timeout=PATIENCE) as client:

        def estimated() -> Explanation | None:
            told = client.explain(job)
            return told if told.together else None

        told = coupled.until(estimated, "Slurm to estimate a start")
    assert told is not None
    shown = here.cluster.squeue("-h", "--start", "-j", job, "-o", "%S").strip()
    assert told.job.start is not None
    assert told.job.start.source == "batch_system"
    assert told.job.start.at.astimezone().replace(tzinfo=None) == datetime.fromisoformat(shown)
    assert told.job.reason is not None
    assert told.job.reason.detail == {"word": "Resources"}
    assert (told.job.position, told.job.queued) == (1, 1), "no other job waits"
    assert told.job.position_at is not None
    assert told.together is not None
    assert told.together.at == told.job.start.at
    assert told.mates[0].reason is not None
    assert told.mates[0].reason.detail["mate"] == f"{here.name}:{job}"


def test_squeue_tells_why_a_job_waits_and_no_longer_when_it_runs(coupled: Served) -> None:
    coupled.serve(tell_interval=1)
    here, there = coupled.here, coupled.there
    long = Work("p", 1, 6.0)  # when it has ended Slurm takes no words about it any more
    job = coupled.submit(here, long, "--comment=mine cosched:pair=p")

    def told(field: str = "admin_comment") -> str:
        return here.cluster.squeue("-h", "-t", "all", "-j", job, "-O", f"{field}:200").strip()

    coupled.until(lambda: told().startswith("cosched: ") and there.name in told(), "squeue to say why it waits")
    assert told("comment") == "mine cosched:pair=p"
    mate = coupled.submit(there, long)
    coupled.until(lambda: told() in ("", "(null)"), "squeue to say no more")
    coupled.check_started_together([job], [mate])


def test_slurm_s_accounts_are_charged_and_have_budgets(coupled: Served) -> None:
    here = coupled.here
    has_budget(here.service)

    def submit(pair: str, account: str) -> str:
        return coupled.submit(here, Work(pair, 1, 1), f"--account={account}")

    with Client(here.service.server, timeout=PATIENCE) as client:
        check_accounts(client, coupled.until, submit)
