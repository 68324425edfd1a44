"""What the study says of the paper is in the paper."""

from pathlib import Path

import pytest

from cosched.sim.studies.dail2002.claims import claims
from cosched.sim.studies.dail2002.comparisons import statements

TEXT = Path(__file__).resolve().parents[4].parent / "shared" / "seeds" / "dail-2002-decoupled-scheduling-grads.txt"


@pytest.fixture(scope="module")
def paper() -> str:
    if not TEXT.is_file():
        pytest.skip(f"no paper to look into: {TEXT} is missing")
    return " ".join(TEXT.read_text().split())


def test_every_number_and_claim_has_its_sentence(paper):
    quotes = [of.quote for of in (*statements(), *claims())]
    assert [quote for quote in quotes if quote not in paper] == []


def test_the_numbers_are_in_their_sentences_and_would_agree():
    for statement in statements():
        numbers = [word for word in statement.said.split() if word[0].isdigit()]
        assert all(number in statement.quote.split() for number in numbers), statement.what
        assert all(statement.low <= float(number) <= statement.high for number in numbers), statement.what


def test_nothing_is_stated_twice():
    said = [statement.what for statement in statements()]
    assert len(said) == len(set(said)) == 52
    assert sum(statement.input != "" for statement in statements()) == 2
