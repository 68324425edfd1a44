"""Names that come near each other, and when that is worth a question."""

from itertools import combinations
from types import SimpleNamespace

import pytest

from cosched.core.protocol import named_mate
from cosched.service.api.named_mates import NamedMates
from cosched.service.peers.linking import Coupled
from cosched.service.wire.errors import Refusal
from cosched.validation.near_names import nearest


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("run7", "Run7"), ("run7", "rnu7"), ("run7", "run8"), ("p1", "P1"), ("p1", "p11"), ("a", "A"),
        ("fluid-run", "fliud_run"), ("fluid-run", "FLUID-RUM"), ("simulation-2026-11", "simulation-2026-12"),
    ],
)  # fmt: skip
def test_names_that_come_near(name, other):
    assert nearest(name, [other]) == other
    assert nearest(other, [name]) == name


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("run7", "run7"),  # that is no other name
        ("a", "b"),
        ("p1", "q2"),
        ("run7", "job7"),
        ("run7", "run42"),
        ("run07", "run42"),
        ("experiment12", "experiment34"),  # a number of a series
        ("fluid-run", "flow-run2"),
        ("x", ""),
    ],
)
def test_names_that_do_not(name, other):
    assert nearest(name, [other]) == ""


def test_case_comes_nearest_and_a_doubt_says_nothing():
    assert nearest("run7", ["run8", "RUN7", "run9"]) == "RUN7"
    assert nearest("fluid", ["fluit", "flu"]) == "fluit"
    assert nearest("run7", ["run8", "run9"]) == ""
    assert nearest("run7", []) == ""


def test_edits_are_those_of_damerau_and_levenshtein():
    """The slow definition, with its table, says the same of all short names of two letters."""
    names = ["".join("ab"[number >> place & 1] for place in range(length)) for length in (6, 7) for number in range(40)]
    for name, other in combinations(names, 2):
        assert (nearest(name, [other]) != "") == (name != other and _table(name, other) <= 2), (name, other)


def _table(a, b):
    rows = {(-1, -1): 0}
    rows |= {(i, -1): i + 1 for i in range(len(a))} | {(-1, j): j + 1 for j in range(len(b))}
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            best = min(rows[i - 1, j] + 1, rows[i, j - 1] + 1, rows[i - 1, j - 1] + (x != y))
            if i and j and x == b[j - 1] and a[i - 1] == y:
                best = min(best, rows[i - 2, j - 2] + 1)
            rows[i, j] = best
    return rows[len(a) - 1, len(b) - 1]


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("eurka", "no domain eurka; did you mean eureka? (configured: eureka, mira)"),
        ("theta", "no domain theta (configured: eureka, mira)"),
    ],
)
def test_a_domain_that_is_not_there_is_followed_by_the_one_that_comes_near(named, said):
    mates = NamedMates(SimpleNamespace(name="intrepid"), None, Coupled(["eureka", "mira"]))
    with pytest.raises(Refusal) as refused:
        mates.mate(named_mate(named))
    assert (refused.value.reason, str(refused.value)) == ("DOMAIN_NOT_FOUND", said)
