"""A study of a package of its own (docs/examples) gets all that ours do: workers, resuming, pages, claims, a report."""

import importlib.util
import re
import sys
from importlib.metadata import entry_points
from pathlib import Path

import polars
import pytest

from cosched.words.errors import InputError
from cosched_sim.reports.figures.figure import Figure
from cosched_sim.reports.page import Section
from cosched_sim.studies import loading, running
from cosched_sim.studies.loading import GROUP, names, study_called
from cosched_sim.studies.report import FIRST, sections_in_markdown
from cosched_sim.studies.running import carry_out, found_in, rebuild
from cosched_sim.studies.study import Told, words_of
from cosched_sim.sweeps.local_workers import local_workers

OURS = [entry.name for entry in entry_points(group=GROUP) if entry.value.startswith("cosched_papers")]
EXAMPLES = Path(__file__).resolve().parents[3] / "docs" / "examples"
FILLED = re.compile(r"\{\w+\}")
GIVEN = {"command": "cosched study boosts", "quick": True, "replications": 2, "seed": 3, "days": 1.0}


class Entry:
    """An entry point of a package that is not installed."""

    def __init__(self, name: str, value: object) -> None:
        self.name, self.value, self._found = name, "elsewhere:STUDY", value

    def load(self) -> object:
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


@pytest.fixture
def example(monkeypatch):
    """The module, which worker processes find, too."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES))
    yield importlib.import_module("example_study")
    sys.modules.pop("example_study")


def test_a_study_of_a_package_of_its_own(example, tmp_path, monkeypatch):
    monkeypatch.setattr(running, "study_called", {"boosts": example.STUDY}.get)
    said = []
    with local_workers(1) as one:
        carry_out(example.STUDY, GIVEN, tmp_path, one, Told(print, said.append), resume=False)
        carry_out(example.STUDY, {**GIVEN, "replications": 3}, tmp_path, one, Told(print, said.append), resume=True)
    assert any("left" in line for line in said)
    rows = polars.read_parquet(tmp_path / "results.parquet")
    assert len(rows) == 9 == rows["error"].null_count()
    report = rebuild(tmp_path)
    page = (tmp_path / "results.md").read_text()
    assert page.startswith("# A boost after each yield\n\n**Not for conclusions: a quick run, with 3 replications.**\n")
    assert all(f"* **{name}.** " in page for name in FIRST)
    assert "| A boost brings mates together sooner | IV-E | " in page
    assert "Waits by the boost: see figures/boosts.svg" in page
    assert "0.2" in (tmp_path / "figures" / "boosts.csv").read_text()
    assert "<dt>Asked</dt>" in (tmp_path / "report.html").read_text()
    assert {path.name for path in (tmp_path / "tables").iterdir()} == {
        "averages.csv", "comparisons.csv", "paper.csv", "claims.csv"
    }  # fmt: skip
    told = "\n".join(map(str, report.summary(tmp_path)))
    assert "claims" not in told  # nothing is counted from so few replications
    assert "Nothing is counted" in told


def test_a_section_of_figures_alone_says_on_the_page_where_they_are():
    figures = [Figure(f"waits-{name}", f"Waits, {name}", "", polars.DataFrame(), print) for name in "ab"]
    assert list(sections_in_markdown([Section("Waits", figures=figures)])) == [
        "## Waits", "", "Waits, a: see figures/waits-a.svg", "", "Waits, b: see figures/waits-b.svg", ""
    ]  # fmt: skip


@pytest.fixture
def entries(monkeypatch):
    """Set what is installed beside ours."""
    found: list[Entry] = []

    def installed(*, group: str, name: str | None = None) -> list[Entry]:
        ours = entry_points(group=group)
        return [entry for entry in (*ours, *found) if name in (None, entry.name)]

    monkeypatch.setattr(loading, "entry_points", installed)
    study_called.cache_clear()
    yield found
    study_called.cache_clear()


def test_studies_come_from_entry_points(entries, example):
    entries.append(Entry("boosts", example.STUDY))
    assert study_called("boosts") is example.STUDY
    assert set(names()) == {*OURS, "boosts"}


@pytest.mark.parametrize(
    ("name", "found", "reason"),
    [
        ("boosts", ImportError("no module"), "study boosts: cannot be loaded: no module"),
        ("boosts", ZeroDivisionError("division by zero"), "study boosts: cannot be loaded: division by zero"),
        ("boosts", 3, "study boosts: elsewhere:STUDY must be of class Study and have this name"),
        ("boosts", study_called("meet"), "study boosts: elsewhere:STUDY must be of class Study and have this name"),
        ("meet", study_called("meet"), "study meet: two packages have a study of this name: "),
    ],
)
def test_what_is_no_study(entries, name, found, reason):
    entries.append(Entry(name, found))
    with pytest.raises(InputError) as refused:
        study_called(name)
    assert str(refused.value).startswith(reason)


@pytest.mark.soak  # a study of a package remains
def test_a_package_that_is_broken_does_not_stop_ours(entries, tiny):
    entries.append(Entry("boosts", ImportError("no module")))
    assert found_in(tiny).said["study"] == "tang2011"


@pytest.mark.parametrize("name", OURS)
def test_ours_begin_with_five_sentences(name: str):
    file = importlib.util.find_spec(f"cosched_papers.studies.{name}").origin
    assert len(words_of(file)["first"]) == len(FIRST) == 5
    for page in Path(file).parent.glob("*.md"):
        head = page.read_text().split("\n\n")[1]
        assert [line.partition(".** ")[0] for line in head.splitlines()] == [f"* **{name}" for name in FIRST]
        for line, text in zip(head.splitlines(), words_of(file)["first"], strict=True):
            assert re.search(".*".join(map(re.escape, FILLED.split(text))), line), "the page is of other words"
        explained = (
            "A comparison is better or worse if its interval",
            'A number "holds" if the whole intervals of all of ours',
        )
        assert any(words in page.read_text() for words in explained)
