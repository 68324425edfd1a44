"""The report of a replay in a real browser: figures are drawn, and nothing is asked of the network."""

import json
import re

import pytest

from cosched_sim.configuration import Domain
from cosched_sim.reports.of_comparison import comparison_page
from cosched_sim.reports.of_replay import write_report
from cosched_sim.reports.page import write_page
from tests.browser import drawn_figures, opened, screenshot
from tests.sim.reports.page_examples import COMMAND, written
from tests.sim.reports.runs import work

CANVAS = "#gantt canvas"
NAME = '</script><b>"it\'s"'


def test_every_figure_is_drawn_and_nothing_is_asked_of_the_network(reported, tmp_path):
    with opened(reported / "report.html") as page:
        found = drawn_figures(page)
        assert found[0] == "gantt"
        assert {"occupancy", "queue-length", "wait", "slowdown", "sync-time", "arrivals"} <= set(found)
        assert page.locator(".gantt-legend").inner_text().count("held") == 1
        assert page.locator("#made pre").inner_text() == COMMAND
        assert page.locator("main b").count() == 0
        screenshot(page, tmp_path, "replay")


def test_links_lead_to_what_is_there_and_the_chart_is_as_fine_as_the_screen(reported):
    with opened(reported / "report.html", device_scale_factor=2) as page:
        ratio = f"() => {{const c = document.querySelector('{CANVAS}'); return c.width / c.clientWidth}}"
        assert page.evaluate(ratio) == 2
        places = page.locator("a").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    ids = set(re.findall(r'\bid="([^"]+)"', (reported / "report.html").read_text()))
    assert [place for place in places if place.startswith("#") and place[1:] not in ids] == []
    assert [place for place in places if not place.startswith("#") and not (reported / place).is_file()] == []


@pytest.mark.soak  # without scripts the same picture is shown
def test_in_print_the_chart_is_a_picture_of_the_whole(reported, tmp_path):
    with opened(reported / "report.html", width=794, height=1123) as page:
        page.emulate_media(media="print")
        assert not page.locator(CANVAS).is_visible()
        assert page.locator("#figure-gantt svg").is_visible()
        assert not page.locator("nav").is_visible()
        overflowing = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth"
        assert not page.evaluate(overflowing)
        screenshot(page, tmp_path, "replay-print")
        assert page.pdf(format="A4")[:4] == b"%PDF"


def test_without_scripts_the_picture_is_shown(reported):
    with opened(reported / "report.html", java_script_enabled=False) as page:
        assert not page.locator(CANVAS).is_visible()
        assert page.locator("#figure-gantt svg").is_visible()


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1280, "dark")])
def test_a_narrow_or_dark_window_shows_all(reported, tmp_path, width, scheme):
    with opened(reported / "report.html", width=width, color_scheme=scheme) as page:
        drawn_figures(page)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
        screenshot(page, tmp_path, f"replay-{width}-{scheme}")


def test_names_of_jobs_are_text_and_one_machine_is_enough(tmp_path):
    log = work("log", (0, 900, 2), (10, 900, 4), (20, 50, 1), ids=[NAME, "never", "x,y"])
    script = "5 down alone 2\n\n"
    write_report(written(tmp_path, [Domain(name="alone", trace=log, nodes=4)], script=script))
    with opened(tmp_path / "report.html") as page:
        assert drawn_figures(page)[0] == "gantt"
        page.fill("#gantt-search", NAME)
        page.click("text=Find")
        assert page.locator("output").inner_text() == f"alone {NAME}"
        page.fill("#gantt-search", "never")
        page.click("text=Find")
        assert page.locator("output").inner_text() == "alone never never had nodes"
        assert page.locator("main b").count() == 0


def test_a_comparison_is_drawn(reported, tmp_path):
    summary = json.loads((reported / "summary.json").read_text())
    said = {**summary, "combinations": {"none": summary, "HH": summary, "HY": summary}}
    write_page(comparison_page(said), tmp_path)
    with opened(tmp_path / "report.html") as page:
        assert drawn_figures(page) == ["schemes"]
        assert page.locator("tbody a").first.get_attribute("href") == "none/report.html"
        screenshot(page, tmp_path, "comparison")
