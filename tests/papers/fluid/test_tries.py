"""A try (TryStartMate) is played on the state of a fluid domain itself: nothing of it may be left there."""

import random

import numpy as np
import pytest

from cosched.core.allocation import Malleable
from cosched.core.effects import Book, Quote
from cosched.core.events import NOT_HOLDABLE
from cosched.core.job import JobState
from cosched.core.scheduling.scheduler import ClusterJob
from cosched_papers.fluid.cluster import FluidCluster
from cosched_papers.fluid.kernels import promises
from cosched_papers.fluid.kernels.state import JOB
from cosched_papers.fluid.settings import Distribution, FluidSettings, Harvesting
from tests.tiers import seeds


def a_crowd(chance: random.Random) -> FluidCluster:
    """Some jobs run, some wait for their mates, some have slots, some hold."""
    rules = {"harvesting": chance.choice(list(Harvesting)), "distribution": chance.choice(list(Distribution))}
    cluster = FluidCluster(FluidSettings(16, **rules, slots=chance.random() < 0.5))
    for job in map(str, range(chance.randint(2, 30))):
        nodes = chance.randint(1, 12)
        columns = Malleable(chance.randint(1, nodes))
        cluster.submit(ClusterJob(job, nodes, chance.randint(1, 99), 0, chance.random() < 0.5, columns=columns))
        if cluster.meeting is not None and chance.random() < 0.2:
            at = cluster.meeting.quote(Quote(job, 5), 0).at
            cluster.meeting.book(Book(job, 5 if at is None else at, 1), 0)
    for _ in range(10):
        if (turn := cluster.next(0)) is None:
            break
        if turn.hold_limit != NOT_HOLDABLE and chance.random() < 0.3:
            cluster.hold(turn.job, 0, 99)
        elif chance.random() < 0.3:
            cluster.pass_over(turn.job, 0, 1.0)
        else:
            cluster.start(turn.job, 0)
    cluster.enter(1)
    return cluster


def all_of(cluster: FluidCluster) -> tuple[bytes, ...]:
    state, machine = cluster.rows.state, cluster.rows.machine
    arrays = state.jobs, state.machine, state.queue, state.running[: machine["running"]], state.lists, state.log
    return tuple(array.tobytes() for array in arrays)


@pytest.mark.parametrize("seed", seeds(40, 400))
def test_a_try_says_what_one_on_a_copy_says_and_leaves_nothing(seed):
    cluster = a_crowd(random.Random(seed))
    rows, before = cluster.rows, all_of(cluster)
    queued = [row for row in range(len(rows.jobs)) if rows.jobs["state"][row] == JobState.QUEUED]
    for row in queued:
        assert rows.would_start(row, 1) == promises.would_start(rows.copied(), row, 1)
        assert all_of(cluster) == before


def test_the_rows_are_held_once():
    cluster = FluidCluster(FluidSettings(4))
    for job in map(str, range(300)):
        cluster.submit(ClusterJob(job, 4, 9, 0, True))
    cluster.try_start("299", 0, 9)
    values = vars(cluster.rows).values()
    held = [each for value in values for each in (value if isinstance(value, tuple) else [value])]
    tables = {id(each) for each in held if isinstance(each, np.ndarray) and each.dtype == JOB and each.base is None}
    assert tables == {id(cluster.rows.state.jobs)}
