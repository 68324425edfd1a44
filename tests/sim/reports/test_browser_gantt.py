"""The Gantt chart under a user's hands, in a real browser."""

import pytest

from cosched_sim.reports.run import read_run
from tests.browser import opened

CANVAS = "#gantt canvas"
FRAME = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
LOWER_HALF = """() => {
    const canvas = document.querySelector('#gantt canvas'), copy = document.createElement('canvas');
    [copy.width, copy.height] = [canvas.width, canvas.height / 2];
    copy.getContext('2d').drawImage(canvas, 0, -canvas.height / 2);
    return copy.toDataURL();
}"""


@pytest.fixture(scope="module")
def chart(reported):
    """The report, opened once for all these tests."""
    with opened(reported / "report.html", height=1000) as page:
        yield page


@pytest.fixture
def gantt(chart):
    """The same with the whole chart in view and nothing selected."""
    chart.locator("#figure-gantt").scroll_into_view_if_needed()
    chart.click("[data-do=whole]")
    chart.locator(CANVAS).focus()
    chart.keyboard.press("Escape")
    chart.mouse.move(0, 0)
    chart.evaluate(FRAME)
    return chart


def picture(page):
    page.evaluate(FRAME)
    return page.evaluate(f"() => document.querySelector('{CANVAS}').toDataURL()")


def find(page, text):
    page.fill("#gantt-search", text)
    page.click("text=Find")
    page.evaluate(FRAME)


def a_pair(folder):
    """Ids of the jobs of a pair on both machines, in the middle of the time."""
    paired = read_run(folder).domains[0].jobs.drop_nulls("pair")
    return paired.row(len(paired) // 2, named=True)["job_id"], paired["mate_job_id"][len(paired) // 2]


def test_the_wheel_zooms_once_the_chart_is_clicked(gantt):
    before = picture(gantt)
    gantt.locator(CANVAS).click(position={"x": 300, "y": 12})
    assert picture(gantt) == before
    gantt.mouse.wheel(0, -300)  # returns perhaps before the page has taken it
    gantt.wait_for_function(f"before => document.querySelector('{CANVAS}').toDataURL() !== before", arg=before)
    gantt.keyboard.press("0")
    assert picture(gantt) == before


def test_dragging_zooms_into_a_part_or_moves(gantt):
    before = picture(gantt)
    canvas = gantt.locator(CANVAS)
    canvas.drag_to(canvas, source_position={"x": 200, "y": 100}, target_position={"x": 400, "y": 110})
    zoomed = picture(gantt)
    assert zoomed != before
    gantt.click("[data-do=drag]")
    canvas.drag_to(canvas, source_position={"x": 400, "y": 100}, target_position={"x": 300, "y": 110})
    gantt.click("[data-do=drag]")
    gantt.mouse.move(0, 0)
    assert picture(gantt) not in (before, zoomed)


@pytest.mark.parametrize(("keys", "changes"), [("+", True), ("+-", False), ("-", False)])
def test_keys_zoom(gantt, keys, changes):
    before = picture(gantt)
    for key in keys:
        gantt.keyboard.press(key)
    assert (picture(gantt) != before) is changes


def test_searching_brings_a_job_to_the_middle_with_its_facts(gantt, reported):
    job, mate = a_pair(reported)
    find(gantt, f"intrepid:{job}")
    facts = gantt.locator(".gantt-job").inner_text()
    assert f"intrepid {job}" in facts
    assert f"eureka {mate}" in facts
    assert "sync time" in facts
    middle = (74 + gantt.locator(CANVAS).bounding_box()["width"] - 14) / 2
    assert f"intrepid {job}" in set(tips(gantt, middle, range(32, 290, 6)))


def tips(page, x, heights):
    """The jobs that are named beside the pointer at places of the chart."""
    for y in heights:
        page.locator(CANVAS).hover(position={"x": x, "y": y})
        if page.locator(".gantt-tip").is_visible():
            yield page.locator(".gantt-tip th[scope=col]").inner_text()


def test_a_job_that_is_on_both_machines_is_found_on_each(gantt, reported):
    both = set.intersection(*(set(domain.jobs["job_id"].to_list()) for domain in read_run(reported).domains))
    for machine in ("intrepid", "eureka"):
        find(gantt, sorted(both)[0])
        assert gantt.locator("output").inner_text().startswith(machine)
    find(gantt, "no such job")
    assert gantt.locator("output").inner_text() == "no job no such job"


def test_clicking_a_job_of_a_pair_marks_its_mate_on_the_other_machine(gantt, reported):
    job, mate = a_pair(reported)
    find(gantt, f"intrepid:{job}")
    gantt.click("text=Show with mate")
    gantt.click("text=Deselect")
    gantt.evaluate(FRAME)
    unmarked = gantt.evaluate(LOWER_HALF)
    find(gantt, f"intrepid:{job}")
    gantt.evaluate(FRAME)
    assert gantt.evaluate(LOWER_HALF) != unmarked
    assert f"eureka {mate}" in gantt.locator(".gantt-job").inner_text()
