"""What the study says of the paper is in the paper."""

from pathlib import Path

import pytest

from cosched.sim.studies.weissman2004.paper.claims import claims
from cosched.sim.studies.weissman2004.paper.numbers import TABLE_2, TABLE_3, statements

SEEDS = Path(__file__).resolve().parents[4].parent / "shared" / "seeds"
TEXT = SEEDS / "weissman-2004-integrated-scheduling.txt"


@pytest.fixture(scope="module")
def paper() -> str:
    if not TEXT.is_file():
        pytest.skip(f"no paper to look into: {TEXT} is missing")
    return " ".join(TEXT.read_text().split())


def test_every_number_has_its_sentence(paper):
    assert [statement.quote for statement in statements() if statement.quote not in paper] == []


def test_every_claim_has_its_sentence(paper):
    assert [claim.quote for claim in claims() if claim.quote not in paper] == []


def test_the_rows_of_tables_are_those_of_their_policies(paper):
    for policy, row in TABLE_2.items():
        assert f"<i>{policy}</i> {row}" in paper
    for beta, row in TABLE_3.items():
        assert f"{beta:g}".removeprefix("0") + (".0" if beta == 1 else "") + f" {row}" in paper


def test_nothing_is_stated_twice():
    said = [(statement.where, statement.what) for statement in statements()]
    assert len(said) == len(set(said)) == 68
    assert sum(statement.given for statement in statements()) == 4


def test_the_number_itself_would_agree():
    for statement in statements():
        if statement.where.startswith("Table"):
            assert statement.low <= float(statement.said) <= statement.high
