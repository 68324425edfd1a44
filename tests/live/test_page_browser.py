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
ADDRESSES = ("/", "/jobs", "/jobs/1", "/history", "/history?past=6h")
WIDTHS = (360, 1280, 3840)
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
        for _ in range(6):
            page.keyboard.press("Tab")
            order.append(page.evaluate("document.activeElement.textContent || document.activeElement.id"))
        assert order == ["Skip to the content", "a", "Now", "Jobs", "History", "find"]
        with pages.a.client() as client:
            job = client.submit(JOB, pair="late", pair_domain="b", hold=True)
            page.get_by_role("link", name="pair late").wait_for()
            assert page.evaluate("document.activeElement.id") == "find"
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
        assert page.locator(".row a").all_text_contents()[0] == "pair run7"
        page.get_by_role("link", name="pair run7").click()
        assert page.locator("h1").text_content().startswith("a:1")
        page.get_by_role("link", name="Jobs").click()
        page.get_by_role("link", name="run").click()
        assert page.locator(".job .state").all_text_contents() == ["runs"]
        page.get_by_role("link", name="History").click()
        page.get_by_text("As a list").nth(1).click()
        assert page.locator("#starts-list li").first.is_visible()
