"""Looks at pages with a real browser: headless Chromium, without a network.

Screenshots go to the folder named by COSCHED_SCREENSHOTS if that is set, else to the test's own.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--explicitly-allowed-ports=10080",  # which Chromium shuns, and tests may get
]
SMALLEST = 20_000  # square pixels of a figure
PATIENCE = 600_000  # milliseconds; a safety net, not a measure

# What is drawn in a figure: how many shapes, and how large it is.
DRAWN = """figure => {
    const canvas = figure.querySelector('.chart:not([hidden]) canvas');
    const svg = figure.querySelector('.drawing svg');
    const box = (canvas ?? svg).getBoundingClientRect();
    const shapes = canvas ? coloured(canvas) : svg.querySelectorAll('path, use, image, rect, polygon, line').length;
    return {id: figure.id, shapes, area: box.width * box.height};
    function coloured(canvas) {
        const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        let count = 0;
        for (let i = 0; i < pixels.length; i += 4) count += pixels[i] + pixels[i + 1] + pixels[i + 2] < 765;
        return count;
    }
}"""


@contextmanager
def opened(path: Path, width: int = 1280, height: int = 800, **options: Any) -> Iterator[Page]:
    """The page of an HTML file; after the block, fails for whatever went to the console and for any other request.

    `options` are those of a browser context (color_scheme="dark", java_script_enabled=False, ...). Skips the test
    where there is no Chromium.
    """
    url = path.resolve().as_uri()
    with visited(url, lambda asked: asked == url, width, height, **options) as page:
        yield page


@contextmanager
def visited(
    url: str, expected: Callable[[str], bool], width: int = 1280, height: int = 800, **options: Any
) -> Iterator[Page]:
    """The page at an address, as `opened`; requests other than the `expected` ones fail."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no Chromium to look at pages with")
    from playwright.sync_api import sync_playwright

    problems: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS, timeout=PATIENCE)
        page = browser.new_page(viewport={"width": width, "height": height}, **options)
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda message: problems.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on("request", lambda request: _note_request(request.url, expected, problems))
        try:
            page.goto(url)
            yield page
        finally:
            browser.close()
    assert not problems, problems


def _note_request(asked: str, expected: Callable[[str], bool], problems: list[str]) -> None:
    if not expected(asked) and not asked.startswith("data:"):
        problems.append(f"request: {asked}")


def drawn_figures(page: Page) -> list[str]:
    """Names of the figures of a page, in order; fails if one is empty or has no room."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    figures = [figure.evaluate(DRAWN) for figure in page.locator("main figure").all()]
    empty = [figure["id"] for figure in figures if figure["shapes"] < 10 or figure["area"] < SMALLEST]
    assert not empty, empty
    return [figure["id"].removeprefix("figure-") for figure in figures]


def screenshot(page: Page, folder: Path, name: str) -> Path:
    """Save the whole page as a picture; where."""
    target = Path(os.environ.get("COSCHED_SCREENSHOTS", folder)) / f"{name}.png"
    target.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=target, full_page=True)
    return target
