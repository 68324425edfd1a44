"""What the study says of the paper is in the paper."""

from cosched_papers.studies.weissman2004.comparisons import statements
from tests.papers.studies.papers import text_of


def test_the_rows_of_tables_are_those_of_their_policies():
    paper = text_of("weissman-2004-integrated-scheduling")
    for statement in statements():
        first = statement.what.split(",")[0]
        if statement.where == "Table 2":
            assert f"<i>{first}</i> {statement.quote}" in paper
        elif statement.where == "Table 3":
            beta = float(statement.what.partition("beta ")[2].partition(":")[0])
            assert f"{beta:g}".removeprefix("0") + (".0" if beta == 1 else "") + f" {statement.quote}" in paper


def test_nothing_is_stated_twice():
    said = [(statement.where, statement.what) for statement in statements()]
    assert len(said) == len(set(said)) == 68
    assert sum(statement.input != "" for statement in statements()) == 4


def test_the_number_itself_would_agree():
    for statement in statements():
        if statement.where.startswith("Table"):
            assert statement.fits.side(float(statement.said)) == 0
