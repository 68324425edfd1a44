"""Pairs made of groups, and the verdict, from results made by hand."""

from collections.abc import Iterator
from pathlib import Path

import polars
import pytest

from cosched_papers.studies.groups.design import WORK, compared, experiments
from cosched_papers.studies.groups.measuring import GAP, GROUP_WAIT, GROUPS, HELD, SYNC, TOGETHER, WAIT, in_pairs
from cosched_papers.studies.groups.setup import IN_PAIRS, settings, under
from cosched_papers.studies.groups.verdict import verdict
from cosched_sim.studies.design import Found
from cosched_sim.workload.pairing import Group
from tests.papers.studies.by_hand import Row, rows_at

SAID = {"study": "groups", "version": "0", "command": "", "quick": False, "replications": 6, "seed": 1, "days": 30.0}


def members(*domains: int) -> tuple[tuple[int, int], ...]:
    return tuple((domain, 7) for domain in domains)


def test_groups_in_pairs():
    three, four = members(0, 1, 2), members(0, 1, 2, 3)
    groups = [Group(row, of) for row, of in enumerate((members(0, 1), three, three, four), 1)]
    pairing = in_pairs(groups)
    assert pairing.groups == ()
    assert pairing.domain.tolist() == [[0, 1], [0, 2], [0, 1], [0, 1], [2, 3]]
    assert [group.members for group in pairing.rows][:2] == [members(0, 1), members(0, 2)]


def test_schemes_of_the_machines():
    said = settings("size", 3, 5, 1.0)
    assert [domain["scheme"] for domain in under(said, "HY")["domains"]] == ["hold"] * 2 + ["yield"] * 3
    assert {domain["scheme"] for domain in under(said, "none")["domains"]} == {"off"}
    assert len({domain["trace"] for domain in said["domains"]}) == 5


def rows(replications: int) -> Iterator[Row]:
    """A group waits 60 minutes, in pairs 20 less; other jobs wait the same whatever is done, and nothing is held."""
    for row in rows_at((place for each in experiments(SAID) for place in each.places), replications):
        number, schemes = row["replication"], row["schemes"]
        wait = (40.0 if schemes.endswith(IN_PAIRS) else 60.0) + number * (1.1 if schemes == "HH" else 1)
        row |= {GROUP_WAIT: wait, SYNC: wait / 2, GROUPS: 10, TOGETHER: 10, GAP: None}
        yield row | {f"{name} {of}": 30.0 + number for name in ("large", "small") for of in (WAIT, HELD)}


@pytest.mark.parametrize("replications", [4, 6])
def test_the_verdict_says_what_the_numbers_say(replications):
    made = polars.DataFrame(list(rows(replications)), infer_schema_length=None)
    found = Found(made, SAID, experiments(SAID), compared)
    told = "\n".join(verdict(found))
    assert "groups in all cases with coscheduling" in told
    if replications < 5:
        assert "comparisons need at least 5 replications" in told
        return
    assert {each.verdict for each in found.compared if each.measure == "large other wait"} == {"open"}
    assert all(each.other[2].endswith(IN_PAIRS) for each in found.compared if each.verdict == "worse")
    assert "groups are better in 0 of 270 comparisons and worse in 90; 180 are open. Worse: group wait (45;" in told


def test_the_page_has_a_row_for_each_place():
    made = polars.DataFrame(list(rows(2)), infer_schema_length=None)
    report = WORK.report({**SAID, "replications": 2}, Path(), made)
    assert "\n".join(report.markdown).count("| YY |") >= 10
    assert report.warning == "Not for conclusions: fewer than 5 replications."
    assert len(report.first) == 5
