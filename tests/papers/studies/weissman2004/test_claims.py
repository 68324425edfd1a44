"""Claims on the grid of policies, M and min_%_of_ideal: each is decided by all that it says."""

from collections.abc import Callable
from itertools import product

import polars
import pytest

from cosched_papers.studies.weissman2004 import setup
from cosched_papers.studies.weissman2004.claims import claims
from cosched_papers.studies.weissman2004.results import Results
from cosched_sim.studies.cases import labels
from cosched_sim.studies.verdicts import FAILS, HOLDS, OPEN

LIMITS = range(4)  # M = 3, 6, 9, 12; then no limit
Change = Callable[[str, str, int, float], tuple[float, float]]  # factors of wait and total


def as_in_the_paper(policy: str, share: float, level: int) -> tuple[float, float]:
    """The wait and the total: FQ waits less at M = 3 and 6, and with 10 % at all M; its total turns at M = 9."""
    wait, total = (100, 80, 60, 40, 10)[level], (300, 200, 150, 180, 190)[level]
    if policy in setup.FR and level in LIMITS:
        wait += 5 if level < 2 or share < 0.3 else -5
        total += (20, 10, 15, -5)[level]
    slightly = 1.04 if policy in (setup.EVEN_FQ, setup.EVEN_FR) else 1.0
    return wait * slightly, total * slightly


def found(change: Change = lambda *_: (1.0, 1.0), wild: float = 1.0) -> Results:
    rows = []
    for model, share, (trace, size) in product(setup.MODELS, setup.SHARES, enumerate((1.0, 1.1, 0.9), 1)):
        row = {**labels(model, share, "", trace), "error": None}
        for at, (policy, (level, name)) in enumerate(product(setup.POLICIES, enumerate(setup.LEVELS))):
            factors = change(model, policy, level, share)
            noise = wild if at % 3 == trace - 1 and level in LIMITS else 1.0
            values = zip(("wait", "total"), as_in_the_paper(policy, share, level), factors, strict=True)
            row |= {setup.column(policy, name, of): size * value * factor * noise for of, value, factor in values}
        rows.append(row)
    return Results(polars.DataFrame(rows))


def decided(text: str, results: Results) -> str:
    return next(claim for claim in claims() if claim.text == text).check(results).word


ALIKE, WIDER = (
    "Linear and parabolic jobs compare alike",
    "FQ's waits are shorter over more M as min_%_of_ideal decreases",
)
SAME, TURNS = (
    "Without a limit all waits are the same small value",
    "FQ's total time falls with M to a point, and then increases",
)
SLIGHTLY = "Low-Imp is slightly better than Even-H"


def of(what: Callable[[str, str, int, float], bool], wait: float = 1.0, total: float = 1.0) -> Change:
    return lambda *place: (wait, total) if what(*place) else (1.0, 1.0)


HALVES = {
    "another policy is the best for parabolic jobs": (
        ALIKE, of(lambda model, policy, *_: model == setup.PARABOLIC and policy == setup.EVEN_FR, total=0.5)
    ),
    "FQ waits less at all M with 50 %, too": (
        WIDER, of(lambda _, policy, level, __: policy in setup.FR and level in LIMITS, wait=2)
    ),
    "at M = 3 the wait is small, too": (SAME, of(lambda _, __, level, ___: level == 0, wait=0.01)),
    "without a limit FQ and FR differ": (
        SAME, of(lambda _, policy, level, __: policy in setup.FR and level == 4, wait=1.01)
    ),
    "the total does not rise again": (TURNS, of(lambda _, __, level, ___: level == 4, total=0.1)),
    "the total does not fall at first": (TURNS, of(lambda _, __, level, ___: level == 0, total=0.1)),
    "Low-Imp is far better": (SLIGHTLY, of(lambda _, policy, *__: policy.startswith("Even"), wait=3, total=3)),
    "Low-Imp is worse": (SLIGHTLY, of(lambda _, policy, *__: policy.startswith("Low"), wait=2, total=2)),
}  # fmt: skip


@pytest.mark.parametrize("what", HALVES)
def test_a_claim_is_decided_by_all_that_it_says(what):
    text, change = HALVES[what]
    assert decided(text, found()) == HOLDS
    assert decided(text, found(change)) == FAILS


@pytest.mark.parametrize("text", [WIDER, TURNS, SLIGHTLY])
def test_what_varies_too_much_is_open(text):
    assert decided(text, found(wild=50.0)) == OPEN
