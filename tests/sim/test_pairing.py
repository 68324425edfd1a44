"""Pairs by window and as a fraction, against the plain rule."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.words.errors import InputError
from cosched_sim.workload.jobs import Workload
from cosched_sim.workload.pairing import Group, Pairing, groups_at_random, pairs_by_fraction, pairs_by_window


def submitted(*times):
    submit = np.array(times, dtype=np.int64)
    ones = np.ones_like(submit)
    return Workload("test", np.arange(1, len(submit) + 1), submit, ones, ones, ones)


def jobs(pairing: Pairing) -> list[tuple[int, int]]:
    return [tuple(pair) for pair in pairing.job.tolist()]


# By window.


def nearest_by_the_plain_rule(first, second, takers, limit):
    """The rule as it is written: look at every job of the other."""
    free = set(range(len(second)))
    pairs = []
    for taker in takers:
        when = first[taker]
        near = [(abs(second[j] - when), second[j], j) for j in free if abs(second[j] - when) <= limit]
        if near:
            mate = min(near)[-1]
            free.remove(mate)
            pairs.append((taker, mate))
    return pairs


times = st.lists(st.integers(0, 60), max_size=30)


@given(first=times, second=times, window=st.integers(0, 70))
@settings(max_examples=500, deadline=None)
def test_windows_pair_by_the_plain_rule(first, second, window):
    """Also where the trace order is not the order of the submit times."""
    pairing = pairs_by_window([submitted(*first), submitted(*second)], window)
    assert jobs(pairing) == nearest_by_the_plain_rule(first, second, range(len(first)), window)
    assert pairing.row.tolist() == list(range(1, len(pairing) + 1))
    assert all(domains == [0, 1] for domains in pairing.domain.tolist())


@pytest.mark.parametrize("same_time", [False, True])
def test_a_hundred_thousand_jobs_that_all_compete_are_paired(same_time):
    """The plain rule would take 10^10 steps."""
    n = 100_000
    late = np.full(n, 5) if same_time else np.arange(n)
    pairing = pairs_by_window([submitted(*np.full(n, 10)), submitted(*late)], 10**9)
    assert len(pairing) == n
    assert sorted(pairing.job[:, 1].tolist()) == list(range(n))


# As a fraction.


@given(
    first=times,
    second=times,
    fraction=st.decimals(0, 1, places=4) | st.sampled_from(["0", "1", "0.29", "1e-1"]),
    seed=st.integers(0, 2**64),
)
@settings(max_examples=300, deadline=None)
def test_fractions_draw_jobs_that_pair_by_the_plain_rule(first, second, fraction, seed):
    pairing = pairs_by_fraction([submitted(*first), submitted(*second)], fraction, seed)
    drawn = pairing.job[:, 0].tolist()
    assert len(drawn) == min(math.floor(Fraction(fraction) * len(first)), len(second))
    assert drawn == sorted(set(drawn))
    assert jobs(pairing) == nearest_by_the_plain_rule(first, second, drawn, math.inf)
    assert pairing.row.tolist() == list(range(1, len(pairing) + 1))


@pytest.mark.parametrize(
    ("fraction", "expected"),
    [("0.29", 29), (Decimal("0.29"), 29), ("0.57", 57), ("0.999", 99), ("1", 100), ("1e-999999999", 0)],
)
def test_fractions_are_exact(fraction, expected):
    """In doubles 0.29 * 100 is 28.999999999999996."""
    assert len(pairs_by_fraction([submitted(*range(100)), submitted(*range(100))], fraction, 1)) == expected


def test_every_job_is_drawn_as_often_as_any_other():
    domains = [submitted(*range(10)), submitted(*range(10))]
    drawn = np.concatenate([pairs_by_fraction(domains, "0.3", seed).job[:, 0] for seed in range(1_000)])
    assert np.abs(np.bincount(drawn, minlength=10) - 300).max() < 75


@pytest.mark.parametrize("fraction", ["-0.1", "1.01", "nan", "inf", "ten", "", "1e999999999"])
def test_what_is_no_fraction_is_refused(fraction):
    with pytest.raises(InputError, match=r"^--pair-fraction: .* is not a number from 0 to 1$"):
        pairs_by_fraction([submitted(1), submitted(1)], fraction, 1)


def test_with_more_domains_a_job_takes_a_mate_in_each_where_it_finds_one():
    pairing = pairs_by_window([submitted(10, 100), submitted(11, 500), submitted(9, 101)], 5)
    assert pairing.groups == (Group(1, ((0, 0), (1, 0), (2, 0))),)
    assert (pairing.row.tolist(), pairing.domain.tolist(), pairing.job.tolist()) == ([2], [[0, 2]], [[1, 1]])


def test_a_share_of_several_domains_is_of_groups():
    pairing = pairs_by_fraction([submitted(*range(0, 100, 10)) for _ in range(3)], "0.5", 1)
    assert len(pairing) == len(pairing.groups) == 5


def test_other_wrong_uses_are_refused():
    one = submitted(1)
    with pytest.raises(InputError, match=r"^--seed: "):
        pairs_by_fraction([one, one], "0.1", -1)
    with pytest.raises(InputError, match=r"^--pair-window: -1 s is not a window"):
        pairs_by_window([one, one], -1)
    for domains in ([one], [one] * 17):
        with pytest.raises(InputError, match=r"^--pair-window: pairs jobs of 2 to 16 domains, but there are \d+"):
            pairs_by_window(domains, 1)
        with pytest.raises(InputError, match=r"^--pair-fraction: pairs jobs of 2 to 16 domains"):
            pairs_by_fraction(domains, "0.1", 1)


# Groups at random.


def members(pairing: Pairing) -> list[tuple[tuple[int, int], ...]]:
    """Of pairs and groups, in the order of their rows."""
    return [group.members for group in pairing.rows]


def months(count: int) -> list[Workload]:
    draw = np.random.default_rng(count)
    return [submitted(*np.sort(draw.integers(0, 10_000, 60)).tolist()) for _ in range(count)]


@pytest.mark.parametrize(("count", "sizes"), [(2, range(2, 3)), (5, range(2, 6)), (20, range(3, 17))])
def test_groups_at_random_have_the_share_of_all_jobs(count, sizes):
    found = members(groups_at_random(months(count), "0.5", sizes, 7))
    everybody = [member for of in found for member in of]
    assert len(everybody) == len(set(everybody))
    assert 30 * count - sizes.start < len(everybody) <= 30 * count
    assert {len(of) for of in found} <= set(sizes)
    assert all(len({domain for domain, _ in of}) == len(of) for of in found)


def test_groups_at_random_are_submitted_close_together_and_numbered_by_time():
    works = months(5)
    found = members(groups_at_random(works, "0.3", range(2, 6), 1))
    submits = [[int(works[domain].submit[row]) for domain, row in of] for of in found]
    assert [min(of) for of in submits] == sorted(min(of) for of in submits)
    assert np.mean([max(of) - min(of) for of in submits]) < 1000


def test_groups_at_random_are_the_same_with_the_same_seed():
    drawn = [members(groups_at_random(months(5), "0.2", range(2, 6), seed)) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_all_jobs_may_be_in_groups():
    assert sum(map(len, members(groups_at_random(months(4), "1", range(2, 5), 1)))) > 200


@pytest.mark.parametrize(("count", "sizes"), [(3, range(2, 5)), (20, range(2, 18)), (3, range(1, 3)), (3, range(3, 3))])
def test_groups_that_the_domains_do_not_allow(count, sizes):
    with pytest.raises(InputError, match=r"^--group-size: .* are not a group of \d+ domains; give 2 to \d+$"):
        groups_at_random(months(count), "0.5", sizes, 1)
