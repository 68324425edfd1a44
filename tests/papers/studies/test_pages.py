"""What the pages of the repository say first is what their tables say."""

import re
from collections import Counter
from pathlib import Path

import pytest

STUDIES = Path(__file__).parents[3] / "papers" / "cosched_papers" / "studies"
PAGES = sorted(STUDIES.glob("*/*.md"))
PAPERS = [path for path in PAGES if path.with_name("claims.csv").exists()]
ESTIMATE = re.compile(r"-?\d[\d,.]* ± \d[\d,.]*\d")
OUTCOMES = re.compile(r"(\d+) hold, (\d+) (?:is|are) open and (\d+) fail")
LOADS = re.compile(r"at 0\.\d+")


def head_and_body(path: Path) -> tuple[str, str]:
    _, head, body = path.read_text().split("\n\n", 2)
    return head, body


def rows(body: str, header: str) -> list[list[str]]:
    """The rows of the table with this header."""
    _, _, after = body.partition(header + "\n")
    table = after.partition("\n\n")[0].splitlines()[1:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.parent.name)
def test_headlines_have_intervals_that_the_tables_have(path):
    head, body = head_and_body(path)
    found = next(line for line in head.splitlines() if line.startswith("* **Found.**"))
    assert not re.findall(r"\d\.\d", LOADS.sub("", ESTIMATE.sub("", found))), "a mean without its interval"
    told = ESTIMATE.findall(found)
    assert told
    assert [each for each in told if each not in body] == []


@pytest.mark.parametrize("path", PAPERS, ids=lambda path: path.parent.name)
def test_the_score_is_that_of_the_tables(path):
    head, body = head_and_body(path)
    numbers = Counter(row[4] for row in rows(body, "| What | Where | Paper | Ours | Agrees |"))
    claims = rows(body, "| Claim | Where | Verdict | Decided by | Found | If it does not hold |")
    counted = Counter(row[2] for row in claims)
    scores = [tuple(map(int, score)) for score in OUTCOMES.findall(head)]
    assert scores == [tuple(of[word] for word in ("holds", "open", "fails")) for of in (numbers, counted)]
    assert all(bool(row[5]) is (row[2] != "holds") for row in claims), "the reason is that of a miss"


def test_meet_counts_the_figures_that_it_was_to_reach():
    head, body = head_and_body(next(path for path in PAGES if path.parent.name == "meet"))
    reached = Counter(row[3] for row in rows(body, "| What | Asked | Measured | Reached |"))
    assert tuple(map(int, OUTCOMES.search(head).groups())) == tuple(reached[of] for of in ("holds", "open", "fails"))
