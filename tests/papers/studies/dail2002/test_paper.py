"""What the study says of the paper is in the paper."""

from pathlib import Path

from cosched_papers.studies.dail2002.comparisons import statements


def test_the_numbers_are_in_their_sentences_and_would_agree():
    for statement in statements():
        numbers = [word for word in statement.said.split() if word[0].isdigit()]
        assert all(number in statement.quote.split() for number in numbers), statement.what
        assert all(statement.fits.side(float(number)) == 0 for number in numbers), statement.what


def test_nothing_is_stated_twice():
    said = [statement.what for statement in statements()]
    assert len(said) == len(set(said)) == 52
    assert sum(statement.input != "" for statement in statements()) == 2


def test_the_page_of_the_repository_says_what_it_is_of():
    text = (Path(__file__).parents[4] / "papers/cosched_papers/studies/dail2002/PAPER.md").read_text()
    assert "Repetitions of each experiment: 10 (seeds 1 to 10)." in text
    assert "Over 30 maps the measured time is off by " in text
    assert "| no result |" not in text
