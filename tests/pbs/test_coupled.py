"""Pairs on two real PBS servers start together, under every combination of schemes."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import pytest

from deploy.lab.waiting import wait_for
from tests.pbs.coupled import Domain, coupled

pytestmark = pytest.mark.soak

NOTING = "date +%s.%N > {jobs}/{pair}; sleep 2"
COMBINATIONS = list(itertools.product(("hold", "yield"), repeat=2))


@pytest.mark.parametrize("schemes", COMBINATIONS, ids="-".join)
def test_a_pair_starts_together_whichever_is_ready_first(schemes: tuple[str, str]) -> None:
    with tempfile.TemporaryDirectory(prefix="pbs-") as folder, coupled(Path(folder), schemes) as domains:
        for number, (first, second) in enumerate((domains, domains[::-1])):
            pair = f"p{number}"
            submit(first, pair)
            submit(second, pair)
            skew = abs(begun(first, pair) - begun(second, pair))
            assert skew < 60, "not together"
            print(f"{pair}: {1000 * skew:.1f} ms apart")
        for domain in domains:
            wait_for(lambda domain=domain: set(domain.cluster.states().values()) == {"free"}, "free nodes")


def submit(domain: Domain, pair: str) -> str:
    script = NOTING.format(jobs=domain.cluster.jobs, pair=pair)
    return domain.cluster.qsub(script, "-lselect=2:ncpus=1", "-lwalltime=600", f"-lpair={pair}")


def begun(domain: Domain, pair: str) -> float:
    note = domain.cluster.jobs / pair
    return wait_for(lambda: float(note.read_text() or 0) if note.exists() else 0.0, f"{pair} on {domain.name}")
