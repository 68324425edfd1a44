"""What the study says of the paper is in the paper."""

from cosched_papers.studies.barsanti2006.comparisons import statements


def test_the_numbers_are_in_their_sentences():
    """But for those that are said in another way, such as thirds."""
    said = {"about 1/3": "1/3", "1/3": "1/3", "about 1/2": "1/2", "1/4": "1/4"}
    for statement in statements():
        words = said.get(statement.said, statement.said)
        numbers = [word for word in words.split() if word.strip("-")[0].isdigit()]
        assert all(number.removesuffix("%") in statement.quote for number in numbers), statement.what


def test_nothing_is_stated_twice():
    said = [(statement.where, statement.what) for statement in statements()]
    assert len(said) == len(set(said)) == 54
    assert sum(statement.input != "" for statement in statements()) == 12


def test_the_number_itself_would_agree():
    for statement in statements():
        numbers = [float(word) for word in statement.said.split() if word.replace(".", "").strip("-").isdigit()]
        assert all(statement.fits.side(number) == 0 for number in numbers), statement.what
