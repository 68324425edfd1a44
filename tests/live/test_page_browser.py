"""The page in a real browser, with real services: no error, no request elsewhere, no barrier that axe-core finds; live
updates, the keyboard, narrow and wide screens, light and dark, and without scripts.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser import screenshot, visited
from tests.live.pages import JOB, Pages, pages
from tests.waiting import PATIENCE

__all__ = ["pages"]
ADDRESSES = ("/", "/jobs", "/jobs/1", "/jobs/2", "/nodes", "/history", "/?find=run7")
WIDTHS = (360, 390, 820, 1400, 3840)
REACHABLE = (
    """[...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, summary, [tabindex='0']")]"""
)
SCHEMES = ("light", "dark")


@contextmanager
def seen(pages: Pages, path: str, width: int = 1280, user: str | None = None, **options: Any) -> Iterator[Page]:
    """A page as its user sees it."""
    asker = pages.asker(user)
    here = f"http://127.0.0.1:{asker.where}"
    told = {"extra_http_headers": asker.headers, **options}
    with visited(here + path, lambda asked: asked.startswith(f"{here}/"), width, **told) as page:
        yield page


def barriers(page: Page) -> list[str]:
    """What axe-core finds, one line for each rule."""
    found = Axe().run(page).response["violations"]
    return [f"{rule['id']}: {rule['nodes'][0]['html']}" for rule in found]


def overflow(page: Page) -> int:
    """Pixels by which the page is wider than the screen."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def test_a_live_page(pages: Pages) -> None:
    with seen(pages, "/") as page:
        expect(page.locator("#pace")).to_have_text("Live.", timeout=1000 * PATIENCE)  # the page lets nobody evaluate
        assert barriers(page) == []
        assert overflow(page) == 0
        order = []
        for _ in range(8):
            page.keyboard.press("Tab")
            order.append(page.evaluate("document.activeElement.textContent || document.activeElement.id"))
        assert order == ["Skip to the content", "a", "Now", "Jobs", "Nodes", "History", "find", "Find"]
        with pages.a.client() as client:
            job = client.submit(JOB, pair="late", pair_domain="b", hold=True)
            page.get_by_role("link", name="pair late").wait_for()
            assert page.evaluate("document.activeElement.textContent") == "Find"
            client.cancel(job)


@pytest.mark.soak
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("path", ADDRESSES)
def test_on_all_screens(pages: Pages, path: str, width: int, scheme: str, tmp_path: Path) -> None:
    with seen(pages, path, width, color_scheme=scheme) as page:
        assert barriers(page) == []
        assert overflow(page) == 0
        assert page.locator("h1").count() == 1
        screenshot(page, tmp_path, f"page{path.replace('/', '-').replace('?', '-')}-{width}-{scheme}")


@pytest.mark.soak
def test_a_search_that_is_open_goes_to_its_only_hit(pages: Pages) -> None:
    with seen(pages, "/jobs?find=sought") as page, pages.a.client() as client:
        expect(page.locator("#pace")).to_have_text("Live.", timeout=1000 * PATIENCE)
        job = client.submit(JOB, name="sought", hold=True)
        page.wait_for_url(f"**/jobs/{job.id}")
        assert page.locator("h1").text_content().startswith(str(job))
        client.cancel(job)


@pytest.mark.soak
@pytest.mark.parametrize("path", ADDRESSES)
def test_the_keyboard_alone_reaches_all(pages: Pages, path: str) -> None:
    with seen(pages, path) as page:
        wanted, reached = page.evaluate(f"{REACHABLE}.length"), []
        for _ in range(wanted):
            page.keyboard.press("Tab")
            reached.append(page.evaluate(f"{REACHABLE}.indexOf(document.activeElement)"))
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none", reached
        assert sorted(reached) == list(range(wanted))


@pytest.mark.soak
@pytest.mark.parametrize("path", ADDRESSES)
def test_with_forced_colours(pages: Pages, path: str) -> None:
    with seen(pages, path, 640, forced_colors="active", reduced_motion="reduce") as page:
        assert overflow(page) == 0
        assert barriers(page) == []


@pytest.mark.soak
def test_without_scripts(pages: Pages) -> None:
    with seen(pages, "/", java_script_enabled=False) as page:
        assert page.locator("#pace").text_content() == "Reload for newer."
        page.get_by_label("Find a job, pair, group or user").fill("run7")
        page.get_by_role("button", name="Find").click()
        assert page.locator("h1").text_content().startswith("a:1"), "the only hit is shown itself"
        page.locator(".points a").last.click()
        assert page.locator(".story li:target").count() == 1
        page.get_by_role("link", name="Jobs").click()
        page.get_by_role("link", name="Nodes", exact=True).last.click()
        assert page.get_by_role("columnheader", name="Nodes").get_attribute("aria-sort") == "ascending"
        page.get_by_role("link", name="runs").click()
        assert page.locator(".jobs td.state").all_text_contents() == ["runs"]
        page.get_by_label("Pair or group").fill("run8")
        page.get_by_role("button", name="Filter").click()
        assert "state=running" in page.url
        assert "There is no job that you may see" in page.locator("main").text_content()
        page.get_by_role("link", name="Nodes", exact=True).click()
        page.locator(".map a").first.click()
        assert page.locator("h1").text_content().startswith("a:")
        page.get_by_role("link", name="History").click()
        page.get_by_text("As a list").nth(1).click()
        assert page.locator("#starts-list li").first.is_visible()
