"""Mutations of the slow simulator: each common wrong definition is caught by a workload."""

import pytest

from cosched_sim.reference.suite import Workload, known_mistakes, workloads

from .mistakes import MISTAKES, rows_of

ALL = workloads()


@pytest.mark.parametrize("workload", ALL, ids=[workload.name for workload in ALL])
def test_the_wrong_schedules_are_those_of_the_changed_simulator(workload: Workload):
    stored = [(name, *job, start) for name, starts in workload.wrong.items() for job, start in starts.items()]
    assert stored == rows_of(workload.folder), "python -m tests.sim.reference.mistakes writes them again"


def test_every_known_mistake_is_simulated_and_every_simulated_one_is_known():
    assert list(known_mistakes()) == list(MISTAKES)
    assert all(known_mistakes().values())


@pytest.mark.parametrize("name", MISTAKES)
def test_a_workload_catches_it(name):
    assert any(name in workload.wrong for workload in ALL)


@pytest.mark.parametrize(
    ("name", "job", "right", "wrong"),
    [("strict-shadow", ("A", "4"), "20", "150"), ("first-fit", ("A", "2"), "100", "101")],
)
def test_the_shadow_time_by_hand(name, job, right, wrong):
    workload = next(workload for workload in ALL if workload.name.endswith("easy-shadow-time"))
    assert workload.expected[job]["start"] == right
    assert workload.wrong[name][job] == wrong


def test_wrong_definitions_of_easy_differ_from_each_other_somewhere():
    easy = ("actual-run-times", "strict-shadow", "no-extra", "first-fit", "shadow-kept", "backfill-conservative")
    everywhere = {name: tuple(str(workload.wrong.get(name)) for workload in ALL) for name in easy}
    assert len(set(everywhere.values())) == len(easy)
