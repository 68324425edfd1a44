"""What the study says of the paper is in the paper, and its page is of a full run."""

from pathlib import Path

from cosched_papers.studies.collins2001.comparisons import statements

WORDS = {
    "80": "SO", "48": "4S", "18": "1S", "up to nearly 50": "50", "over 4": "four", "slightly over 100": "100",
    "somewhat less than 10 (not always)": "10%",
}  # fmt: skip


def test_the_numbers_are_in_their_sentences_and_would_agree():
    """Table 1 is damaged: some eights are read as S."""
    for statement in statements():
        said = WORDS.get(statement.said, statement.said)
        assert said in statement.quote, statement.what
        assert statement.fits.low < statement.fits.high, statement.what


def test_nothing_is_stated_twice():
    said = [statement.what for statement in statements()]
    assert len(said) == len(set(said)) == 27
    assert sum(statement.input != "" for statement in statements()) == 6


def test_the_page_of_the_repository_is_of_a_full_run():
    text = (Path(__file__).parents[4] / "papers/cosched_papers/studies/collins2001/PAPER.md").read_text()
    assert "Replications: 10 (seeds 1 to 10)" in text
    assert "Not for conclusions" not in text
    assert "| no result |" not in text
