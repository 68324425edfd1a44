"""Schedulers that give nodes by name (docs/simulator.md, Results): who has which from when to when."""

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from random import Random
from types import SimpleNamespace

import polars as pl
import pytest

from cosched_sim.reports.run import read_run
from cosched_sim.results.output import RunInfo, write_run
from tests.reference import RefDomain, RefJob
from tests.sim.exact import pairing_of, ref_domain, setup_of, some_jobs, some_pairs
from tests.sim.schedulers.named import named
from tests.sim.schedulers.together import check_together, express, played, restarted, schedule
from tests.tiers import seeds


def test_a_replay_tells_on_which_nodes_jobs_have_run(tmp_path):
    jobs = [RefJob(1, 0, 100, 100, 3), RefJob(2, 10, 50, 50, 2), RefJob(3, 20, 10, 10, 1)]
    setups = [named(setup_of(RefDomain("A", 4, jobs))), setup_of(RefDomain("B", 4, jobs))]
    write_run(played(setups), tmp_path / "run", RunInfo("", 0, 0.0))
    had = pl.read_csv(tmp_path / "run" / "allocations.csv", infer_schema=False)
    assert had.select("domain", "job_id", "start", "where").rows() == [
        ("A", "1", "0", "slot1,slot2,slot3"),
        ("A", "3", "20", "slot0"),
        ("A", "2", "100", "slot2,slot3"),
    ]
    assert read_run(tmp_path / "run").domains[0].allocations["where"].to_list() == had["where"].to_list()


@pytest.mark.parametrize("seed", seeds(5, 200))
def test_no_name_is_two_jobs_at_once_and_a_restart_changes_none(seed):
    random = Random(f"named {seed}")
    batch = [setup_of(ref_domain(random, name, some_jobs(random, 12))) for name in "AB"]
    setups = [named(express(batch[0], random.choice([5, 20, 50]))), batch[1]]
    jobs = [[SimpleNamespace(job_id=int(job)) for job in of.workload.job_id] for of in setups]
    domains = [SimpleNamespace(name=of.name, jobs=of_it) for of, of_it in zip(setups, jobs, strict=True)]
    pairing = pairing_of(some_pairs(random, domains, most=9), setups)
    result = played(setups, pairing)
    check_together(result)
    spans = defaultdict(list)
    for _, _, nodes, start, end, _, where, _ in result.domains["A"].allocations.rows():
        assert len(where.split(",")) == nodes
        for name in where.split(","):
            spans[name].append((start, end))
    for of_name in map(sorted, spans.values()):
        assert all(end <= start for (_, end), (start, _) in pairwise(of_name))
    again = [replace(of, kind=restarted(of.kind)) for of in setups]
    assert schedule(played(again, pairing)) == schedule(result)
