"""Whatever a study quotes is in its paper."""

from importlib import import_module

import pytest

from tests.papers.studies.papers import text_of

PAPERS = {
    "tang2011": "tang-2011-job-coscheduling",
    "weissman2004": "weissman-2004-integrated-scheduling",
    "barsanti2006": "barsanti-sodan-2006-scojo-p",
    "dail2002": "dail-2002-decoupled-scheduling-grads",
    "collins2001": "collins-george-2001-swil-job-scheduling",
}


@pytest.mark.parametrize("study", PAPERS)
def test_every_number_and_claim_has_its_sentence(study):
    paper, package = text_of(PAPERS[study]), f"cosched_papers.studies.{study}"
    statements = import_module(f"{package}.comparisons").statements()
    claims = import_module(f"{package}.claims").claims()
    assert [of.quote for of in (*statements, *claims) if of.quote not in paper] == []


@pytest.mark.parametrize("study", PAPERS)
def test_claims_are_told_one_by_one_so_each_has_a_subject(study):
    claims = import_module(f"cosched_papers.studies.{study}.claims").claims()
    of_others = ("And", "But", "It", "Its", "So", "Then", "They", "This")
    assert [of.text for of in claims if of.text.split()[0] in of_others or " this is " in of.text] == []
