"""Run times by curves of Downey's are those of exact speed-ups (molding.md, Jobs), however they are computed."""

import math
from fractions import Fraction
from random import Random

import pytest

from cosched_papers.molding import curves
from cosched_papers.molding.curves import MILLIONTHS, Downey
from tests.tiers import seeds

LARGEST = 10**12  # of a parameter, in millionths


def exact(curve: Downey, ideal: int, run: int, most: int) -> list[int]:
    """ "T(n) is run S(N_opt) / S(n)", "in whole seconds, rounded half up, at least 1"."""
    ratios = (run * curve.speed_up(ideal) / curve.speed_up(nodes) for nodes in range(1, most + 1))
    return [max(1, math.floor(ratio + Fraction(1, 2))) for ratio in ratios]


@pytest.mark.parametrize("seed", seeds(40, 3000))
def test_run_times_are_those_of_exact_speed_ups(seed):
    random = Random(seed)
    a = random.choice([MILLIONTHS, random.randint(1, 300) * MILLIONTHS, int(MILLIONTHS ** random.uniform(1, 2))])
    sigma = random.choice([0, 0, 1, MILLIONTHS, MILLIONTHS + 1, random.randint(0, 3 * MILLIONTHS), LARGEST])
    curve = Downey(a, sigma)
    most = min(curve.most, random.choice([3, 100, 600]))
    ideal = random.randint(1, most)
    run = random.choice([1, random.randint(1, 99), random.randint(1, 10**6), random.randint(1, (1 << 57) // ideal)])
    assert curve.times(ideal, run, most).tolist() == exact(curve, ideal, run, most)


@pytest.mark.parametrize("curve", [Downey(LARGEST // 2, 0), Downey(LARGEST, 1), Downey(LARGEST, LARGEST)])
@pytest.mark.parametrize("run", [99_999, 10 * 366 * 86400])
def test_few_run_times_have_to_be_computed_exactly(curve, run, monkeypatch):
    """At a machine of 2^19 nodes and more; also where all are half a second from a whole one (the first curve)."""
    half_up, asked = curves.half_up, 0

    def counted(top: int, bottom: int) -> int:
        nonlocal asked
        asked += 1
        return half_up(top, bottom)

    monkeypatch.setattr(curves, "half_up", counted)
    most = min(curve.most, 1 << 20)
    for ideal in (1, 250_000, most):
        asked = 0
        times = curve.times(ideal, run, most)
        assert asked < 2000
        sample = [1, 2, 3, most - 1, most, *range(1, most, most // 50)]
        assert [times[nodes - 1] for nodes in sample] == [
            half_up(*(run * curve.speed_up(ideal) / curve.speed_up(nodes)).as_integer_ratio()) for nodes in sample
        ]
