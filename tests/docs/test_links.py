"""What pages link to is there, and so is every page that a source, a test or a page names."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<!`)\]\(([^()\s]+(?:\([^()\s]*\))?)\)")
NAMED = re.compile(r"(?<![\w*<{}/.-])[\w./-]*\w\.md\b")
WRITTEN = {"results.md"}  # files that commands write
DRAWN = TOP / "docs" / "gallery"  # pictures that make docs draws; tests/docs/test_site.py looks at them


@cache
def tracked() -> tuple[Path, ...]:
    """All files of the tree, without what is generated."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=TOP, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("this is no work tree of git")
    return tuple(path for name in listed.stdout.splitlines() if (path := TOP / name).is_file())


def pages() -> list[Path]:
    return [path for path in tracked() if path.suffix == ".md"]


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


@cache
def anchors(page: Path) -> frozenset[str]:
    """Those that code hosts and the site give to the titles of a page."""
    titles = re.findall(r"^#+ (.*)$", without_code(page.read_text(encoding="utf-8")), re.MULTILINE)
    return frozenset(re.sub(r"[^\w -]", "", title.lower()).strip().replace(" ", "-") for title in titles)


def broken(page: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    found = []
    for link in LINK.findall(without_code(page.read_text(encoding="utf-8"))):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if "://" in link or target.parent == DRAWN or (target.exists() and (not anchor or anchor in anchors(target))):
            continue
        found.append(link)
    return found


def test_links_lead_somewhere():
    assert {str(page.relative_to(TOP)): wrong for page in pages() if (wrong := broken(page))} == {}


def is_there(name: str, of: Path) -> bool:
    """A page may be named from the top of the tree, from the file that names it, or as it is called in docs/."""
    return any((folder / name).is_file() for folder in (TOP, of.parent, TOP / "docs")) or name in WRITTEN


def test_every_page_that_is_named_is_in_the_tree():
    missing = {}
    for file in tracked():
        if file.suffix in (".svg", ".gz", ".png") or file == Path(__file__):
            continue
        named = set(NAMED.findall(file.read_text(encoding="utf-8", errors="replace")))
        if wrong := sorted(name for name in named if not is_there(name, file)):
            missing[str(file.relative_to(TOP))] = wrong
    assert missing == {}


def test_contributing_says_of_every_folder_of_tests_what_it_is_for():
    table = (TOP / "CONTRIBUTING.md").read_text().split("Each kind of test has one place:\n\n")[1].split("\n\n")[0]
    named = {link.removeprefix("tests/").split("/")[0] for link in LINK.findall(table)}
    assert named == {path.relative_to(TOP / "tests").parts[0] for path in tracked() if path.parts[-3:-2] == ("tests",)}
