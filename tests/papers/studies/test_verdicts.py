"""Verdicts by intervals, beside a slow check of every point of them."""

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as some

from cosched_sim.results.estimate import Estimate, Exact, estimate, jackknifed
from cosched_sim.studies import verdicts
from cosched_sim.studies.measured import could_be_most
from cosched_sim.studies.verdicts import FAILS, HOLDS, OPEN, POSITIVE, Range, all_hold, all_of, below, parts, positive

ENDS = some.integers(-4, 4)
WORDS = [HOLDS, OPEN, FAILS]


@some.composite
def ranges(draw: some.DrawFn) -> Range:
    """Bands, and ranges with one bound, with and without their ends."""
    low, high = sorted((draw(ENDS), draw(ENDS)))
    ends = draw(some.sampled_from([(low, high), (low, math.inf), (-math.inf, high)]))
    without = draw(some.sets(some.sampled_from(ends))) if low < high else ()
    return Range(*ends, tuple(without))


ESTIMATES = some.builds(lambda mean, half: Estimate(mean / 2, half / 2), some.integers(-10, 10), some.integers(0, 12))


def fits(value: float, of: Range) -> bool:
    return of.low <= value <= of.high and value not in of.without


def points(value: Estimate) -> list[float]:
    """Points that are nearer than any two ends."""
    return [value.low + step / 8 for step in range(int(8 * (value.high - value.low)) + 1)]


def by_points(truths: list[bool]) -> str:
    return HOLDS if all(truths) else OPEN if any(truths) else FAILS


@given(ESTIMATES, ranges())
def test_one_number_is_decided_by_all_points_of_its_interval(value, of):
    assert of.decides(value) == by_points([fits(point, of) for point in points(value)])


@given(some.lists(some.builds(lambda m, h: Estimate(m, h), some.integers(-2, 2), some.integers(0, 1)), min_size=1,
                  max_size=3), ranges())  # fmt: skip
def test_several_numbers_are_decided_by_all_points_of_all_intervals(values, of):
    verdict = all_of([(str(number), value) for number, value in enumerate(values)], of)
    each = [by_points([fits(point, of) for point in points(value)]) for value in values]
    truths = [all(combination) for combination in product(*([word == HOLDS, word != FAILS] for word in each))]
    assert verdict.word == by_points(truths)
    assert bool(verdict.reason) is (verdict.word != HOLDS)


@given(some.lists(some.sampled_from(WORDS), min_size=1, max_size=4))
def test_all_and_one_of_several_are_what_they_are_in_every_possible_world(words):
    worlds = list(product(*([word == HOLDS, word != FAILS] for word in words)))
    assert all_hold(words) == by_points([all(world) for world in worlds])
    assert verdicts.one_holds(words) == by_points([any(world) for world in worlds])
    assert verdicts.opposite(all_hold(words)) == by_points([not all(world) for world in worlds])
    each_part = [
        (f"part {number}", verdicts.Verdict(word, "ours", "reason" * (word != HOLDS)))
        for number, word in enumerate(words)
    ]
    assert parts(*each_part).word == all_hold(words)
    assert parts(*each_part, one=True).word == verdicts.one_holds(words)
    assert verdicts.tally({name: verdict.word for name, verdict in each_part}, "places").word == all_hold(words)


@pytest.mark.parametrize(
    ("value", "of", "word"),
    [
        (Estimate(5.9, 23.0), Range(-5, 5), OPEN),  # the interval covers the band
        (Estimate(1.09, 0.16), Range(0.95, 1.05), OPEN),
        (Estimate(0.92, 0.14), Range(0.95, 1.05), OPEN),
        (Estimate(0.1, 100), POSITIVE, OPEN),
        (Estimate(0.14, 0.18), POSITIVE, OPEN),
        (Estimate(0.2, 0.18), POSITIVE, HOLDS),
        (Estimate(9, 0.5), below(10), HOLDS),
        (Estimate(10.5, 0.5), below(10), FAILS),
        (Estimate(10.5, 0.5), Range(high=10), OPEN),
        (Estimate(0.0, 0.0), verdicts.NOT_NEGATIVE, HOLDS),
        (Estimate(3.0), verdicts.above(2), OPEN),  # without an interval nothing is known
        (Exact(3.0), verdicts.above(2), HOLDS),
    ],
)
def test_shapes(value, of, word):
    assert all_of([("x", value), ("y", value)], of).word == word == all_of([("x", value)], of).word


def test_a_tie_is_told():
    verdict = positive([("one", Estimate(0.0, 0.0)), ("other", Estimate(-1.0, 0.5))], " min")
    assert (verdict.word, verdict.reason) == (FAILS, "2 of 2 fail: one (a tie), other (-1.00 ± 0.50 min)")
    assert positive([("one", Estimate(0.0, 0.0))]).reason == "a tie"


def test_what_has_no_results_leaves_a_claim_open():
    verdict = positive([("there", Estimate(2.0, 1.0)), ("not run", None)])
    assert (verdict.word, verdict.reason) == (OPEN, "1 of 2 has no results: not run")
    assert positive([("there", Estimate(-2.0, 1.0)), ("not run", None)]).word == FAILS


def test_only_a_miss_has_a_cause():
    given = [verdicts.because(verdicts.Verdict(word, ""), lambda: "as it rains") for word in WORDS]
    assert [verdict.why for verdict in given] == ["", "", "as it rains"]


@given(some.lists(some.lists(ENDS, min_size=3, max_size=3), min_size=2, max_size=4))
def test_what_could_be_the_most_is_what_nothing_surely_exceeds(columns):
    """Of numbers without errors these are the greatest."""
    means = {name: Fraction(sum(of), len(of)) for name, of in enumerate(columns)}
    of_two = {(a, b): Exact(float(means[a] - means[b])) for a in means for b in means if a != b}
    assert could_be_most(of_two) == {name for name, mean in means.items() if mean == max(means.values())}


@given(some.lists(some.floats(-100, 100), min_size=2, max_size=8))
def test_the_jackknife_of_a_mean_is_students_interval(values):
    found, usual = jackknifed(values, lambda these: sum(these) / len(these)), estimate(values)
    assert (found.mean, found.half) == (pytest.approx(usual.mean, abs=1e-9), pytest.approx(usual.half, abs=1e-6))


def test_sums_of_estimates_have_at_most_both_intervals():
    assert Estimate(3.0, 1.0).minus(Estimate(1.0, 0.5)) == Estimate(2.0, 1.5)
    assert Estimate(3.0, 1.0).minus(1).times(-2) == Estimate(-4.0, 2.0)
    assert Estimate(3.0).plus(Estimate(1.0, 0.5)).half is None
    assert str(Estimate(0.0, 0.5).times(-1)) == "0.00 ± 0.50"
    assert str(Estimate(-0.04, 14.0)) == "0.0 ± 14.0"
