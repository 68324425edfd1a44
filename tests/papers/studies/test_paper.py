"""What the study says of the paper is in the paper."""

import math
import re

from cosched_papers.studies.tang2011.comparisons import statements

NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def test_the_numbers_are_those_of_the_sentences():
    """In the words 'below 4' the 4 is from the sentence, unless it rounds or reads "two minutes"."""
    for statement in statements():
        in_quote = NUMBER.findall(statement.quote.replace("-", " "))
        missing = [number for number in NUMBER.findall(statement.said) if number not in in_quote]
        assert not missing or statement.said in WORDED, (statement.what, missing)


WORDED = {
    "100",  # "all"
    "below 10",  # "single digits"
    "10 to 99",  # "double-digit"
}


def test_the_number_itself_would_agree():
    for statement in statements():
        numbers = [float(number.replace(",", "")) for number in NUMBER.findall(statement.said)]
        if len(numbers) == 1 and not statement.said.startswith(("below", "nearly", "above", "around")):
            assert statement.fits.side(numbers[0]) == 0, statement.what
            assert math.isfinite(statement.fits.high - statement.fits.low), statement.what


def test_nothing_is_stated_twice():
    said = [(statement.where, statement.what) for statement in statements()]
    assert len(said) == len(set(said))
    assert len(said) > 60


def test_the_misprints_are_told():
    notes = {statement.said: statement.note for statement in statements() if statement.note}
    assert "72,000" in notes["25,000 to 35,000"]
    assert "4.1 %" in notes["0.46 to 4.6"]
