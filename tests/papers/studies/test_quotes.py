"""What studies say of their papers is in the papers, and their pages are of full runs."""

import math
import re
from importlib import import_module
from pathlib import Path

import pytest

from tests.papers.studies.papers import text_of

STUDIES = Path(__file__).parents[3] / "papers/cosched_papers/studies"
PAPERS = {
    "tang2011": "tang-2011-job-coscheduling",
    "weissman2004": "weissman-2004-integrated-scheduling",
    "barsanti2006": "barsanti-sodan-2006-scojo-p",
    "dail2002": "dail-2002-decoupled-scheduling-grads",
    "collins2001": "collins-george-2001-swil-job-scheduling",
}
STATED = {  # what a paper says in numbers, and how many of these are inputs
    "tang2011": (65, 23),
    "weissman2004": (68, 4),
    "barsanti2006": (54, 12),
    "dail2002": (52, 2),
    "collins2001": (27, 6),
}
WORDED = {  # what is not said in digits, or in those of a table that is damaged: some of its eights are an S
    "tang2011": {"100": "all", "below 10": "single digits", "10 to 99": "double-digit"},
    "weissman2004": {"1.1 to 5": "a factor of 5", "1.1 to 3": "a factor of 3"},
    "collins2001": {"80": "SO", "48": "4S", "18": "1S", "over 4": "four"},
}
FULL = {
    "weissman2004": "100 traces of 10,000 jobs",
    "barsanti2006": "20 workloads of 10,000 jobs",
    "dail2002": "Repetitions of each experiment: 10 (seeds 1 to 10).",
    "collins2001": "Replications: 10 (seeds 1 to 10)",
}


def statements(study: str) -> list:
    return list(import_module(f"cosched_papers.studies.{study}.comparisons").statements())


@pytest.mark.parametrize("study", PAPERS)
def test_every_number_and_claim_has_its_sentence(study):
    paper = text_of(PAPERS[study])
    claims = import_module(f"cosched_papers.studies.{study}.claims").claims()
    assert [of.quote for of in (*statements(study), *claims) if of.quote not in paper] == []


@pytest.mark.parametrize("study", PAPERS)
def test_claims_are_told_one_by_one_so_each_has_a_subject(study):
    claims = import_module(f"cosched_papers.studies.{study}.claims").claims()
    of_others = ("And", "But", "It", "Its", "So", "Then", "They", "This")
    assert [of.text for of in claims if of.text.split()[0] in of_others or " this is " in of.text] == []


@pytest.mark.parametrize("study", STATED)
def test_the_numbers_are_in_their_sentences_and_would_agree(study):
    for statement in statements(study):
        said = WORDED.get(study, {}).get(statement.said, statement.said)
        numbers = [word.removesuffix("%") for word in said.split() if word.strip("-")[0].isdigit()]
        assert all(number in statement.quote for number in numbers), statement.what
        in_full = re.sub(r"\.(\d) million", r"\g<1>00000", statement.said.replace(",", ""))
        plain = [float(number) for number in in_full.split() if number.replace(".", "").strip("-").isdigit()]
        fit = all(statement.fits.side(number) == 0 for number in plain)
        assert fit is ("misprint" not in statement.note), statement.what
        assert " " in in_full or math.isfinite(statement.fits.high - statement.fits.low), statement.what


@pytest.mark.parametrize("study", STATED)
def test_nothing_is_stated_twice(study):
    said = [(statement.where, statement.what) for statement in statements(study)]
    inputs = sum(statement.input != "" for statement in statements(study))
    assert (len(set(said)), inputs) == (len(said), inputs) == STATED[study]


def test_the_misprints_are_told():
    notes = {statement.said: statement.note for statement in statements("tang2011") if statement.note}
    assert "72,000" in notes["25,000 to 35,000"]
    assert "4.1 %" in notes["0.46 to 4.6"]


@pytest.mark.parametrize("study", FULL)
def test_the_page_of_the_repository_is_of_a_full_run(study):
    text = (STUDIES / f"{study}/PAPER.md").read_text()
    assert FULL[study] in text
    assert "Not for conclusions" not in text
    assert "| no result |" not in text


def test_the_rows_of_tables_are_those_of_their_policies():
    paper = text_of(PAPERS["weissman2004"])
    for statement in statements("weissman2004"):
        first = statement.what.split(",")[0]
        if statement.where == "Table 2":
            assert f"<i>{first}</i> {statement.quote}" in paper
        elif statement.where == "Table 3":
            beta = float(statement.what.partition("beta ")[2].partition(":")[0])
            assert f"{beta:g}".removeprefix("0") + (".0" if beta == 1 else "") + f" {statement.quote}" in paper
