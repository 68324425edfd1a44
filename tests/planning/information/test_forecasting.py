"""Forecasts by the best predictor, against its definition."""

import random
from statistics import fmean, median

import pytest

from cosched.planning.information.series import GAINS, PREDICTORS, WINDOWS, forecast


def slow(values: list[float]) -> float:
    """Each predictor forecasts every value from those before it; the one with the least square error goes on."""

    def smooth(gain):
        def predict(before):
            state = before[0]
            for value in before[1:]:
                state = gain * value + (1 - gain) * state
            return state

        return predict

    predictors = [
        lambda before: before[-1],
        fmean,
        *(lambda before, n=n: fmean(before[-n:]) for n in WINDOWS),
        *(lambda before, n=n: median(before[-n:]) for n in WINDOWS),
        *(smooth(gain) for gain in GAINS),
    ]
    errors = [
        sum((predict(values[:place]) - values[place]) ** 2 for place in range(1, len(values))) for predict in predictors
    ]
    return predictors[min(range(len(predictors)), key=errors.__getitem__)](values)


def test_the_best_predictor_forecasts():
    draw = random.Random(3)
    for _ in range(60):
        level, values = 1.0, []
        for _ in range(draw.randint(1, 60)):
            level = draw.choice((level, level, draw.uniform(0, 1)))
            values.append(level * draw.uniform(0.9, 1.1))
        assert forecast(values) == pytest.approx(slow(values), rel=1e-9)


def test_series_of_different_kinds_have_different_best_predictors():
    draw = random.Random(4)
    noise = [0.5 + draw.uniform(-0.1, 0.1) for _ in range(300)]
    walk = [float(step) for step in range(300)]
    peaks = [0.9 if place % 11 else 0.1 for place in range(300)]
    assert forecast([0.7] * 9) == pytest.approx(0.7)
    assert forecast(noise) == pytest.approx(0.5, abs=0.02)
    assert forecast(walk) == 299
    assert forecast(peaks) == pytest.approx(0.9, abs=0.1)
    assert len(PREDICTORS) == 2 + 2 * len(WINDOWS) + len(GAINS)
