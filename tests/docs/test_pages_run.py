"""Every block on README, CONTRIBUTING and the pages works as written, and prints what the page shows."""

import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from tests.docs.terminals import ENVIRONMENT, Block, Terminals, assert_prints_what_is_shown, blocks, missing
from tests.live.services import free_port, wait_until

TOP = Path(__file__).resolve().parents[2]
README, SIMULATOR, TOUR = TOP / "README.md", TOP / "docs" / "simulator.md", TOP / "docs" / "tour.md"
CONTRIBUTING, EXAMPLES = TOP / "CONTRIBUTING.md", TOP / "docs" / "examples"
LOOK = "cosched queue"  # shows one instant
PATIENT = {  # what a reader would do on a machine that is slow just then
    "| tail -n 4\n": "| tail -n 60\n",  # a job that waits for longer has a longer story
    "\ncat cosched-1.out ../intrepid/cosched-1.out\n": (
        "\nuntil [ -s ../intrepid/cosched-1.out ]; do sleep 0.1; done\ncat cosched-1.out ../intrepid/cosched-1.out\n"
    ),
}


@pytest.fixture
def terminals(short_path: Path) -> Iterator[Terminals]:
    made = Terminals(short_path)
    yield made
    made.close()


@pytest.fixture
def ports() -> dict[str, str]:
    """Free ones for those that the pages name, which may be another test's."""
    return {port: str(free_port()) for port in ("17701", "17702")}


@pytest.fixture
def other_ports(ports: dict[str, str]) -> dict[str, str]:
    """The change by which the examples of a pair have those."""
    there = "cd site/deploy/examples/loopback"
    return {there: f"{there}; sed -i '{';'.join(f's/{port}/{free}/' for port, free in ports.items())}' *.toml "}


def until_shown(block: Block, printed: str, terminals: Terminals) -> str:
    """What it has printed, and what its last line prints until that is as shown, if it looks at the queue."""
    last = block.code.splitlines()[-1]
    again = replace(block, code=f"# {block.terminal}\n{last}\n")
    parts = [printed]

    def is_shown() -> bool:
        if missing(block, "".join(parts)):
            parts.append(terminals.run(again))
            return False
        return True

    if last.startswith(LOOK) and "--all" not in last:
        wait_until(is_shown, f"the queue is as shown:\n{block.shown}")
    return "".join(parts)


def changed(block: Block, changes: Mapping[str, str]) -> Block:
    code = block.code
    for written, typed in changes.items():
        code = code.replace(written, typed)
    return replace(block, code=code)


def works_as_written(page: Path, terminals: Terminals, changes: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """What the blocks of a page print, which is what the page shows; all but some changes is typed as written."""
    said = []
    for block in blocks(page):
        if "buf curl" in block.code and shutil.which("buf", path=ENVIRONMENT["PATH"]) is None:
            continue
        said.append(until_shown(block, terminals.run(changed(block, changes)), terminals))
        assert_prints_what_is_shown(block, said[-1])
    return said


def test_the_readme_works_as_written(terminals, other_ports):
    said = works_as_written(README, terminals, other_ports)
    assert "pairs: 166 of 166 started together\n" in said[0]
    assert (terminals.folder / "first" / "report.html").stat().st_size > 100_000
    shown = [block.shown for block in blocks(README) if "--compare" in block.code]
    assert shown == [said[1].partition("\n\n")[0] + "\n"]  # the whole table: the price stands beside the gain


@pytest.mark.soak
def test_the_simulator_s_page_works_as_written(terminals):
    said = works_as_written(SIMULATOR, terminals)
    assert len(said) >= 10
    assert all(said)
    assert (terminals.folder / "run1" / "jobs.csv").stat().st_size > 100_000
    assert any("'together': 166" in text for text in said)
    assert any("groups: 166 of 166 (332 jobs) started together, or within their windows" in text for text in said)
    assert "'desynchronised': 0" in said[-1]  # the Python block


@pytest.mark.parametrize(
    "page",
    [
        # README and tour remain, and test_commands for the options of each page
        pytest.param("fluid", marks=[pytest.mark.papers, pytest.mark.soak]),
        pytest.param("molding", marks=pytest.mark.papers),
        pytest.param("heterogeneous", marks=pytest.mark.papers),
        "select",
    ],
)
def test_the_page_works_as_written(page, terminals, other_ports):
    assert works_as_written(TOP / "docs" / f"{page}.md", terminals, {**other_ports, "17741": str(free_port())})


def test_the_tour_works_as_written(terminals, ports):
    typed = {block.terminal for block in blocks(TOUR) if block.language == "sh"}
    assert typed == {"terminal 0", "terminal 1", "terminal 2"}
    works_as_written(TOUR, terminals, {**PATIENT, **ports})


def test_the_tour_shows_what_matters():
    written = "".join(block.code for block in blocks(TOUR))
    assert all(impatient in written for impatient in PATIENT)
    shown = "".join(block.shown for block in blocks(TOUR))
    assert "(MateUnsubmitted)" in shown
    assert "started: its mate's domain cannot be reached" in shown
    assert "for another in its place, then starts alone" in shown
    assert "its run is ended: its mate has ended" in shown


@pytest.mark.soak  # the examples are under test in conformance, cli and studies
def test_the_examples_of_contributing_work_as_written(terminals, other_ports):
    shutil.copytree(EXAMPLES, terminals.folder / "docs" / "examples")  # a build leaves folders there
    install = "pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation"
    elsewhere = f"{sys.executable} -m {install} --target lib ./docs/examples; export PYTHONPATH=$PWD/lib"
    said = works_as_written(CONTRIBUTING, terminals, {"pip install ./docs/examples": elsewhere, **other_ports})
    assert len(said) == 5
    assert re.search(r"^wait +all", said[0], re.MULTILINE)
    assert "Not for conclusions: a quick run, with 2 replications." in said[1]
    assert "Nothing is counted" in said[1]
    assert "Submitted job 1 to eureka\nits mate is intrepid:1\n" in said[2]
    assert re.search(r"completed$", said[2])
    assert said[3].splitlines()[-1] == "excluded: c2.gamma.org (no speed)"


def test_pages_for_newcomers_are_short():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 200
    for example in EXAMPLES.glob("*.*"):
        assert len(example.read_text(encoding="utf-8").splitlines()) < 150
