"""Domains that share no pair or group are replayed apart, by tasks: the results are those of one process."""

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import cosched_sim as sim
from cosched.core.protocol import Terms
from cosched.words.errors import InputError
from cosched_sim import dask_replaying
from cosched_sim.dask_replaying import DaskReplay, connected, within
from cosched_sim.replaying import NO_PAIRS
from cosched_sim.workload.pairing import Group, Pairing
from tests.sim.reports.runs import domain, ints, pairs_of

PAIRING = Pairing(
    ints(1, 4),
    np.array([[1, 3], [1, 3]]),
    np.array([[0, 0], [2, 1]]),
    groups=(Group(2, ((0, 1), (4, 0), (5, 2))),),
    terms={(3, 0): Terms(), (5, 2): Terms()},
)


def test_pairs_and_groups_connect_domains():
    assert connected(PAIRING, 7) == [[0, 4, 5], [1, 3], [2], [6]]
    assert connected(NO_PAIRS, 2) == [[0], [1]]


def test_rows_stay_those_of_the_file_and_domains_are_counted_within_the_set():
    pairs, group, none = (within(PAIRING, domains) for domains in [*connected(PAIRING, 7)[1::-1], [2]])
    assert (pairs.row.tolist(), pairs.domain.tolist()) == ([1, 4], [[0, 1], [0, 1]])
    assert (pairs.job.tolist(), pairs.groups, list(pairs.terms)) == ([[0, 0], [2, 1]], (), [(1, 0)])
    assert (group.groups, list(group.terms)) == ((Group(2, ((0, 1), (1, 0), (2, 2))),), [(2, 2)])
    assert (len(group.row), len(none)) == (0, 0)


@contextmanager
def elsewhere(_: str) -> Iterator[Callable[[Callable[..., Any], Iterable[Sequence[Any]]], list[Any]]]:
    """Tasks whose arguments and outcomes are sent, as to workers and from them."""
    send = lambda value: pickle.loads(pickle.dumps(value))  # noqa: E731
    yield lambda task, arguments: [send(task(*send(each))) for each in arguments]


@pytest.mark.parametrize("interval", ["20m", 0])
def test_a_hold_without_end_lasts_as_long_as_jobs_of_other_domains_run(interval, monkeypatch):
    """The deadlock of two pairs beside a domain that has nothing to do with them; holds that are released end it."""
    monkeypatch.setattr(dask_replaying, "dask_tasks", elsewhere)
    jobs = {"A": [(0, 50, 6), (1, 20, 10)], "B": [(30, 10, 8), (40, 10, 8)], "C": [(0, 10**4, 3)]}
    holds = {"max_held_fraction": "1", "release_interval": interval}
    config = sim.ReplayConfig(domains=tuple(domain(name, 10, *rows, **holds) for name, rows in jobs.items()))
    said: list[str] = []
    one, apart = sim.Replay(config), DaskReplay(config, said.append, address="")
    for replay in (one, apart):
        replay.pairing = pairs_of((1, 2), (2, 1))
    said.clear()
    here, there = one.run(), apart.run()
    assert here.jobs.equals(there.jobs)
    for name in "ABC":
        assert here.domains[name].metrics == there.domains[name].metrics
        for field in fields(here.domains[name].jobs):
            assert (getattr(here.domains[name].jobs, field.name) == getattr(there.domains[name].jobs, field.name)).all()
    assert bool(said) == (not interval), "what lasts is counted to the end of all domains"


def test_what_goes_through_all_domains_is_refused():
    domains = tuple(domain(name, 10, (0, 10, 1)) for name in "AB")
    with pytest.raises(InputError, match=r"^--dask: parts know nothing of each other: --events needs one process$"):
        DaskReplay(sim.ReplayConfig(domains=domains, events=True), address="")
