"""`make docs`: the site builds without a warning, and asks nothing of other hosts."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
FETCHED = re.compile(r"""<(?:script|img|link)\b[^>]*\b(?:src|href)=["'](?:https?:)?//|url\(["']?(?:https?:)?//""")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    pytest.importorskip("sphinx", reason="make setup installs what builds the site")
    folder = tmp_path_factory.mktemp("site")
    (recipe,) = re.findall(r"^docs: setup\n((?:\t.*\n)+)", (TOP / "Makefile").read_text(), re.M)
    for command in re.findall(r"^\t\$\(BIN\)/python (.*)$", recipe, re.M):
        words = shlex.split(command.replace("dist/docs", str(folder)))
        done = subprocess.run([sys.executable, *words], cwd=TOP, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
    return folder


def test_every_page_is_there(site):
    assert "Hold: a ready job keeps its nodes" in (site / "index.html").read_text()
    for page in [*TOP.glob("*.md"), *(TOP / "docs").glob("*.md")]:
        built = (site / page.relative_to(TOP)).with_suffix(".html").read_text()
        assert "toctree-l1 current" in built or page.name == "README.md", f"{page.name} is in no table of contents"


def test_the_gallery_shows_every_picture_that_is_drawn_for_it(site):
    shown = re.findall(r'src="\.\./_images/([a-z-]+)\.svg"', (site / "docs/gallery.html").read_text())
    assert sorted(shown) == sorted(picture.stem for picture in (TOP / "docs/gallery").glob("*.svg"))


def test_nothing_is_fetched_from_other_hosts(site):
    files = [path for path in site.rglob("*") if path.suffix in (".html", ".css") and "_downloads" not in path.parts]
    assert len(files) > 20
    assert [path.name for path in files if FETCHED.search(path.read_text())] == []
