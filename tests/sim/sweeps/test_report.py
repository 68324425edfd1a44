"""The report of a sweep: what is drawn, and that it can be made again."""

from pathlib import Path
from typing import Any

import polars
import pytest

from cosched.words.errors import InputError
from cosched_sim.reports.figures.sweep_figures import MOST_FIGURES, sweep_figures
from cosched_sim.reports.of_sweep import rebuild, sweep_page, write_report
from cosched_sim.sweeps.averages import averages
from cosched_sim.sweeps.grid import Sweep
from cosched_sim.sweeps.sweeping import Swept, carry_out, read_swept
from cosched_sim.sweeps.workers import Workers
from tests.browser import drawn_figures, opened, screenshot
from tests.sim.sweeps.small import pair

GRID: dict[str, list[Any]] = {"schemes": ["none", "HH", "YH"], "eureka.load": [0.25, 0.5]}


@pytest.fixture(scope="module")
def swept(workers: Workers, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small sweep with its report; a third of its cases fail."""
    folder = tmp_path_factory.mktemp("sweep")
    sweep = Sweep(pair(), {**GRID, "eureka.trace": [f"generated:eureka/{jobs}" for jobs in TRACES]}, 2, 1)
    write_report(carry_out(sweep, folder, workers, "cosched sweep s.toml", resume=False, tell=lambda _: None), folder)
    return folder


TRACES = ("jobs=20", "jobs=40", "jobs=20/days=900/utilisation=0.9")


def test_the_page_says_what_was_varied_and_what_came_of_it(swept: Path):
    page = sweep_page(read_swept(swept))
    assert page.title == "Sweep over schemes, eureka.load, eureka.trace"
    assert page.subtitle == "36 replays: 18 places in the grid, 2 replications"
    assert ("Attention", "12 cases failed") in page.facts
    assert ("schemes", "none, HH, YH") in page.facts
    assert ("Seeds", "1 to 2") in page.facts
    assert [section.title for section in page.sections] == ["Results", "intrepid", "eureka", "Pairs", "Failed cases"]
    first = page.sections[1].tables[0].rows[0]
    assert first[:2] == ["none, eureka.load 0.25, eureka.trace generated:eureka/jobs=20", "2"]
    assert len(page.sections[1].tables[0].rows) == 18
    assert page.sections[1].tables[0].rows[2][1:] == ["0", *["–"] * 5]
    assert len(page.sections[4].tables[0].rows) == 10


def test_in_a_browser(swept: Path, tmp_path: Path):
    with opened(swept / "report.html") as page:
        assert drawn_figures(page) == [f"{name}-{part}" for name in ("intrepid", "eureka") for part in (1, 2, 3)]
        screenshot(page, tmp_path, "sweep")


@pytest.mark.soak  # half a minute of drawing
def test_made_again_it_is_the_same(swept: Path):
    before = {path: path.read_bytes() for path in swept.rglob("*") if path.is_file()}
    (swept / "report.html").unlink()
    assert rebuild(swept) == swept / "report.html"
    assert {path: path.read_bytes() for path in swept.rglob("*") if path.is_file()} == before


def rows(**grid: list[Any]) -> list[dict[str, Any]]:
    """Averages of a made-up sweep, in which the mean wait is 60 s times the number of the place."""
    places = [dict(case.labels) for case in Sweep(pair(), grid, 1, 1)]
    waits = {"error": [None] * len(places), "a.all.wait_s.mean": [60 * number for number in range(len(places))]}
    table = polars.DataFrame(places).hstack(polars.DataFrame(waits))
    return averages(table, list(grid), ["a.all.wait_s.mean"]).to_dicts()


def drawn(**grid: list[Any]) -> list[polars.DataFrame]:
    figures = list(sweep_figures("a", list(grid), rows(**grid)))
    assert len({figure.name for figure in figures}) == len(figures)
    columns = ("group", "series", "mean", "base")
    return [figure.table.filter(polars.col("panel") == "Wait").select(columns) for figure in figures]


def test_bars_are_schemes_in_groups_of_the_other_key_with_a_base_line():
    (table,) = drawn(**{"eureka.load": [0.25, 0.5], "schemes": ["none", "HH", "YH"]})
    assert table.rows() == [("0.25", "HH", 1, 0), ("0.25", "YH", 2, 0), ("0.5", "HH", 4, 3), ("0.5", "YH", 5, 3)]


def test_without_schemes_the_first_key_is_bars():
    (table,) = drawn(release_interval=["5m", "20m"], pair_window=[60, 120])
    assert table.rows()[:2] == [("60", "5m", 0, None), ("60", "20m", 2, None)]


def test_one_key_is_groups_unless_it_is_the_schemes():
    assert drawn(pair_window=[60, 120])[0].rows() == [("60", "", 0, None), ("120", "", 1, None)]
    assert drawn(schemes=["none", "HH"])[0].rows() == [("", "HH", 1, 0)]
    assert drawn(schemes=["none"])[0].rows() == [("", "none", 0, None)]


def test_further_keys_are_further_figures_up_to_a_number():
    assert len(drawn(schemes=["HH"], pair_window=[60], release_interval=[1, 2], yield_boost=[1, 2])) == 4
    assert len(drawn(schemes=["HH"], pair_window=[60], release_interval=list(range(1, 30)))) == MOST_FIGURES


def test_a_sweep_that_has_not_ended(swept: Path, tmp_path: Path):
    (tmp_path / "sweep.json").write_bytes((swept / "sweep.json").read_bytes())
    with pytest.raises(InputError, match="the sweep there has not ended: `cosched sweep --resume` continues it"):
        rebuild(tmp_path)


def test_one_machine():
    said = {"grid": {"load": [1]}, "replications": 1, "seed": 3, "cases": 1, "command": "c", "version": "0"}
    results = polars.DataFrame({"load": [1], "error": [None], "a.held_share": [0.5]})
    found = averages(results, ["load"], ["a.held_share"])
    page = sweep_page(Swept({**said, "settings": {"domains": [{"name": "a"}], "overrun": "kill"}}, found, None, 0, []))
    assert [section.title for section in page.sections] == ["Results", "a"]
    assert page.sections[1].tables[0].rows == [["load 1", "1", "–", "–", "–", "–", "50"]]
    assert page.facts == [("load", "1"), ("Seeds", "3"), ("a", ""), ("Settings", "overrun kill")]
