"""Section IV-E2 (Tang et al. 2011), reducing performance impact; coscheduling.md on cap, yield limit, yield boost."""

from decimal import Decimal
from itertools import pairwise

import pytest

from cosched.core.coscheduling import holds
from cosched.core.effects import Hold, Yield
from cosched.core.protocol import MateTried, Status
from cosched.core.settings import CoschedulingSettings, Scheme
from tests.core.driver import NO, DomainA, called, decided, of
from tests.sim.core.replays import Replay

PAIR = [("a1", "b1")]


# The cap


def test_the_proportion_of_held_nodes_has_a_maximum():
    """ "Therefore, we enforce a maximum threshold for the proportion of nodes." """
    assert CoschedulingSettings().max_held_fraction == Decimal("0.5")
    with pytest.raises(ValueError, match="max_held_fraction"):
        CoschedulingSettings(max_held_fraction=Decimal("1.01"))


def test_a_job_that_would_exceed_it_yields():
    """ "If a job is going to hold some more nodes so that proportion of held nodes exceeds the threshold, the job will
    yield instead of hold." """
    a = DomainA(nodes=10, max_held_fraction=Decimal("0.5"))
    assert decided(a.hold_or_yield(job="one", nodes=3)) == [Hold]
    assert decided(a.hold_or_yield(job="two", nodes=3)) == [Yield]
    assert decided(a.hold_or_yield(job="three", nodes=2)) == [Hold]
    assert a.core.ledger.held_nodes == 5


def test_the_rest_of_the_machine_can_be_used_normally():
    """ "With the strategy, the system can have at least a number of nodes able to be consumed normally." """
    jobs = {"a1": (0, 9, 5), "a2": (1, 9, 5), "a3": (2, 9, 5)}
    mates = {"b1": (500, 9, 1), "b2": (500, 9, 1)}
    run = Replay(jobs, mates, [*PAIR, ("a2", "b2")], max_held_fraction=Decimal("0.5"))
    assert run.times("a1", "holds") == [0]
    assert run.times("a2", "yields")[0] == 1
    assert run.start("a3") == 2


@pytest.mark.parametrize(
    ("fraction", "machine", "cap"),
    [
        ("0.1", 30, 3),  # in doubles 0.1 * 30 is 3.0000000000000004 or 3.0
        ("0.29", 100, 29),  # 28.999999999999996
        ("0.57", 100, 57),  # 56.99999999999999
        ("0.7", 10, 7),
        ("0.6", 5, 3),
        ("0.33", 100, 33),
        ("0.333", 3, 0),
        ("0.5", 7, 3),
        ("0", 10, 0),
        ("1", 10, 10),
        ("0.99999999999999999999", 40960, 40959),
    ],
)
def test_the_cap_is_computed_in_decimal(fraction, machine, cap):
    """ "A hold that would bring the held nodes above floor(fraction x nodes) is a yield instead" """
    assert holds.held_node_cap(CoschedulingSettings(max_held_fraction=Decimal(fraction)), machine) == cap
    for nodes, decision in ((cap, Hold), (cap + 1, Yield)):
        a = DomainA(nodes=machine, max_held_fraction=Decimal(fraction))
        assert decided(a.hold_or_yield(nodes=nodes)) == [decision]


def test_the_cap_is_looked_at_again_when_the_answer_comes():
    """ "Held nodes never exceed the cap." (While j asked, another job began to hold.)"""
    a = DomainA(nodes=10, max_held_fraction=Decimal("0.5"))
    a.run_job(Status.QUEUING, job="one", nodes=3)
    a.run_job(Status.QUEUING, job="two", nodes=3)
    assert decided(a.reply(MateTried(NO), "one")) == [Hold]
    assert decided(a.reply(MateTried(NO), "two")) == [Yield]
    assert a.core.ledger.held_nodes == 3


# The yield limit


def test_a_job_that_yielded_often_enough_holds():
    """ "To restrict the number of alternate yields, we introduce a maximum yielding threshold. That is, if a job yields
    more than a certain amount of times, it can start holding."

    Mended: "A job that has yielded so often holds, if the cap and rule 5 allow it" """
    a = DomainA(scheme=Scheme.YIELD, max_yields=2)
    decisions = []
    for a.now in (0, 10, 20):
        decisions += decided(a.hold_or_yield())
    assert decisions == [Yield, Yield, Hold]


def test_a_job_at_the_yield_limit_says_that_it_will_hold():
    a = DomainA(scheme=Scheme.YIELD, max_yields=1)
    assert called(a.run_job(Status.QUEUING)).hold_until == 0
    a.reply(MateTried(NO))
    a.now = 10
    assert called(a.run_job(Status.QUEUING)).hold_until == 1210


@pytest.mark.parametrize(("fraction", "ready"), [("0.3", {"nodes": 4}), ("1", {"hold_limit": 1209})])
def test_the_yield_limit_lifts_neither_the_cap_nor_rule_5(fraction, ready):
    a = DomainA(scheme=Scheme.YIELD, max_yields=1, max_held_fraction=Decimal(fraction))
    for a.now in (0, 10):
        assert decided(a.hold_or_yield(**ready)) == [Yield]


def test_no_yield_limit_by_default():
    """ "`max_yields`, 0 is none" """
    a = DomainA(scheme=Scheme.YIELD)
    for a.now in range(200):
        assert decided(a.hold_or_yield()) == [Yield]


def test_a_yield_counts_once_per_job_and_instant():
    """ "A yield counts once per job and instant" """
    a = DomainA(scheme=Scheme.YIELD, max_yields=2)
    for a.now, yields in ((5, 1), (5, 1), (6, 2)):
        assert decided(a.hold_or_yield()) == [Yield]
        assert a.job().yields == yields


def test_being_passed_over_in_a_dry_run_is_neither_a_yield_nor_readiness():
    """ "Being passed over in somebody's TryStartMate is neither a yield nor a readiness" """
    # At 12, when b9 ends, A asks for b2 first. In the dry run b1 could start; b2 does, so b1 has no room until 21.
    run = Replay(
        {"a2": (12, 9, 1), "a1": (40, 9, 1)},
        {"b9": (0, 12, 10), "b1": (5, 9, 8), "b2": (6, 9, 4)},
        [*PAIR, ("a2", "b2")],
        scheme=Scheme.YIELD,
    )
    assert run.start("a2") == run.start("b2") == 12
    assert (run.job("b1").ready_at, run.times("b1", "yields")) == (21, [21])


# The yield boost


def test_a_yield_may_raise_the_priority():
    """ "Another option is to increase the priority of the job after it yields each time." """
    a = DomainA(scheme=Scheme.YIELD, yield_boost=Decimal("0.5"))
    boosts = []
    for a.now in range(4):
        boosts += [effect.boost for effect in of(a.hold_or_yield(), Yield)]
    assert boosts == [1.5, 2.25, 3.375, 5.0625]
    assert all(later > earlier for earlier, later in pairwise(boosts))


def test_the_boosted_job_comes_first():
    # a2 is reserved at 100; a1 is backfilled at 40 and yields. At 100 a2 scores 90 and a1 60, or 60 * 2 with the boost.
    jobs = {"a9": (0, 100, 5), "a2": (10, 50, 10), "a1": (40, 50, 5)}
    mates = {"b9": (0, 100, 10), "b1": (40, 50, 1)}
    boosts = (Decimal(0), Decimal(1))
    starts = [Replay(jobs, mates, PAIR, scheme=Scheme.YIELD, yield_boost=boost).starts() for boost in boosts]
    assert starts[0] == {"a9": 0, "a2": 100, "a1": 150, "b9": 0, "b1": 150}
    assert starts[1] == {"a9": 0, "a2": 150, "a1": 100, "b9": 0, "b1": 100}


@pytest.mark.parametrize(
    ("boost", "yields", "factor"),
    [
        ("0", 5, 1.0), ("0.25", 1, 1.25), ("1", 10, 1024.0), ("1", 19, 2.0**19), ("1", 20, 1e6), ("1", 10**6, 1e6),
        ("1000000", 1, 1e6), ("0.001", 10**9, 1e6),
    ],
)  # fmt: skip
def test_the_boost_is_bounded(boost, yields, factor):
    """ "The score of a job is multiplied by min((1 + yield_boost)^yields, 10^6)" """
    assert holds.yield_boost(CoschedulingSettings(yield_boost=Decimal(boost)), yields) == factor
