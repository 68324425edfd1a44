"""What a live domain learns of run times is on record with the end of each run: nothing is lost, or counted twice."""

from functools import partial

import pytest

from cosched.core.job import JobState
from cosched.core.scheduling.run_times import Origin, Pair, Runs, Source
from cosched.core.settings import CoschedulingSettings, Scheme
from tests.conformance.schedulers.histories import HOLD, YIELD, chosen, die_at, new_world, run
from tests.core.learning import Learning
from tests.service.world import Faults, Node, World, domain_a
from tests.tiers import seeds

PAIR = Pair("of u", "machine")
RUNS = (4, 9, 300, 20)  # seconds


class LearningNode(Node):
    def _scheduler(self):
        return Learning(10)


class LearningWorld(World):
    node_kind = LearningNode


def alone(folder) -> LearningNode:
    """A domain without mates."""
    return domain_a(folder, CoschedulingSettings(scheme=Scheme.OFF), "a", LearningNode)


def learned(*seconds: int) -> Runs:
    runs = Runs()
    for one in seconds:
        runs.add(one)
    return runs


def measured(node: LearningNode) -> Runs:
    """The runs of all jobs, by their records."""
    records = [node.store.job(int(job)) for job in node.expected]
    return learned(*(record.ended_at - record.started_at for record in records))


def test_a_domain_that_dies_at_any_step_learns_each_run_once(tmp_path):
    step, steps = 0, 1
    while step < steps:
        step += 1
        folder = tmp_path / str(step)
        folder.mkdir()
        node = alone(folder)
        made = node.world
        reached = die_at(node, step)
        for job, seconds in enumerate(RUNS, 1):
            made.at(1000 + 3 * job, partial(node.submit, job, 4, seconds, None))
            node.expected.add(str(job))
        run(made)
        steps = reached()
        assert dict(node.store.runs()) == {Origin(*PAIR, "u", "low"): measured(node)}
        assert node.domain.scheduler.run_times.runs(PAIR) == measured(node)
        made.close()
    assert steps > 10


@pytest.mark.parametrize("seed", seeds(1, 10))
@pytest.mark.parametrize("faults", [Faults(kill=0.05), Faults(kill=0.05, power=0.7, sync=3)])
def test_with_mates_and_power_failures(tmp_path, seed, faults):
    made = new_world(tmp_path, seed, (HOLD, YIELD), faults, LearningWorld)
    run(made)
    for node in made.nodes.values():
        assert dict(node.store.runs()) == {Origin(*PAIR, "u", "low"): measured(node)}


@pytest.fixture
def node(tmp_path) -> LearningNode:
    """Its job 1 runs."""
    node = alone(tmp_path)
    node.submit(1, 4, 100, None)
    node.world.run(1050)
    assert node.running
    return node


def test_what_the_manager_has_measured_counts_and_not_when_the_service_heard_of_it(node):
    node.domain.end("1", JobState.COMPLETED, ran=7)
    assert node.store.runs() == [(Origin(*PAIR, "u", "low"), learned(7))]


@pytest.mark.parametrize("how", [JobState.FAILED, JobState.CANCELLED])
def test_a_failed_or_cancelled_run_does_not_count(node, how):
    """heterogeneous.md: "Preempted and failed runs do not count." """
    node.domain.end("1", how, ran=7)
    assert node.store.runs() == []


def test_a_run_that_completes_while_it_is_to_be_preempted_does_not_count(node):
    """Its job waits, or has another place, by then."""
    with node.domain.turns.take():
        scheduler = node.domain.scheduler
        scheduler._preempt(scheduler.jobs["1"])
        node.domain.decisions.carry_out([])
    node.domain.end("1", JobState.COMPLETED, ran=7)
    assert (node.store.job(1).state, node.store.runs()) == (JobState.COMPLETED, [])


def test_corrections_are_on_record(node):
    node.domain.end("1", JobState.COMPLETED)
    times = node.domain.scheduler.run_times
    with node.domain.turns.take():
        times.state(PAIR, 12)
        times.state(Pair("other", "machine"), 3)
    with node.domain.turns.take():
        times.forget(Pair("other", "machine"))
    assert (node.store.runs(), node.store.stated_times()) == ([], [(PAIR, 12)])
    node.restart()
    assert node.domain.scheduler.run_times.predict(PAIR, 60) == (12, Source.STATED, 0, None)


def test_sums_of_squares_may_be_larger_than_a_number_of_the_database(store):
    origin, runs = Origin("long", "m", "ann", "low"), learned(*[10**9] * 9)
    times = Learning(1).run_times
    times.recall([(origin, runs)], [])
    times.learn(origin, 10**9)
    with store.transaction():
        store.save_run_times(times.take_changed())
    [(kept, sums)] = store.runs()
    assert (kept, sums) == (origin, learned(*[10**9] * 10))


def test_domains_that_meet_learn_too(tmp_path):
    """The settings of a world with mates, without faults: one run for each job."""
    made = LearningWorld(tmp_path, 1, chosen("ab", (HOLD, HOLD)), Faults())
    for node in made.nodes.values():
        node.submit(1, 4, 50, "p")
    run(made)
    assert [sum(runs.count for _, runs in node.store.runs()) for node in made.nodes.values()] == [1, 1]
