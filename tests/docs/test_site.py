"""`make docs`: the site builds without a warning, and asks nothing of other hosts."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
FETCHED = re.compile(r"""<(?:script|img|link)\b[^>]*\b(?:src|href)=["'](?:https?:)?//|url\(["']?(?:https?:)?//""")


GALLERY = TOP / "docs" / "gallery"
PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'  # stands in for one that is not drawn yet


def shown() -> list[str]:
    """The pictures of the gallery's page, by their names."""
    return re.findall(r"\(gallery/([a-z-]+)\.svg\)", (TOP / "docs/gallery.md").read_text())


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    pytest.importorskip("sphinx", reason="make setup installs what builds the site")
    GALLERY.mkdir(exist_ok=True)
    for name in shown():
        if not (picture := GALLERY / f"{name}.svg").exists():
            picture.write_text(PICTURE)
    (command,) = re.findall(r"^\t\$\(BIN\)/python (-m sphinx .*) dist/docs$", (TOP / "Makefile").read_text(), re.M)
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, *shlex.split(command), str(folder)], cwd=TOP, capture_output=True, text=True, check=False
    )
    assert (built.returncode, built.stderr) == (0, "")
    return folder


def test_every_page_is_there(site):
    assert "Hold: a ready job keeps its nodes" in (site / "index.html").read_text()
    for page in [*TOP.glob("*.md"), *(TOP / "docs").glob("*.md")]:
        built = (site / page.relative_to(TOP)).with_suffix(".html").read_text()
        assert "toctree-l1 current" in built or page.name == "README.md", f"{page.name} is in no table of contents"


@pytest.mark.soak
def test_the_gallery_shows_every_picture_that_is_drawn_for_it(tmp_path):
    subprocess.run([sys.executable, "-m", "deploy.gallery", tmp_path], cwd=TOP, check=True)
    assert sorted(shown()) == sorted(picture.stem for picture in tmp_path.glob("*.svg"))


def test_nothing_is_fetched_from_other_hosts(site):
    files = [path for path in site.rglob("*") if path.suffix in (".html", ".css") and "_downloads" not in path.parts]
    assert len(files) > 20
    assert [path.name for path in files if FETCHED.search(path.read_text())] == []
