"""Pages: what is written, and that nothing in them is taken for markup."""

import re
from html.parser import HTMLParser

import polars
import pytest

from cosched_sim.reports.figures.figure import Figure
from cosched_sim.reports.page import Cell, Page, Section, Table, Tile, Widget, write_page

NASTY = 'it\'s "</script><b>here</b>" & <!-- \\u2028 \udcff'


def figure(name="line"):
    table = polars.DataFrame({"x": [1, 2]})
    return Figure(name, "A line", "It goes up.", table, lambda canvas: canvas.subplots().plot([1, 2]))


def page(**changes):
    values = {"title": "Run", "subtitle": "of a test", "command": "cosched replay", "version": "1.2", "facts": []}
    return Page(**{**values, "sections": [Section("One", "First.\n\nSecond.", figures=[figure()])], **changes})


class Elements(HTMLParser):
    """The start tags of a page, and the text outside styles and scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.tags[-1:] and self.tags[-1][0] not in ("style", "script"):
            self.text += data


def test_a_page_has_its_figures_beside_it_and_in_it(tmp_path):
    assert write_page(page(), tmp_path) == tmp_path / "report.html"
    names = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert names == ["figures/line.csv", "figures/line.png", "figures/line.svg", "report.html"]
    tags = Elements((tmp_path / "report.html").read_text()).tags
    assert "svg" in dict(tags)
    links = [attributes["href"] for tag, attributes in tags if tag == "a" and "figures" in attributes["href"]]
    assert sorted(links) == names[:3]


def test_a_page_names_no_other_place(tmp_path):
    found = Elements(write_page(page(), tmp_path).read_text())
    places = [a.get("src") or a.get("href") or a.get("xlink:href") for t, a in found.tags if t != "svg"]
    assert [place for place in places if place and not re.match(r"#|figures/|data:", place)] == []
    policy = next(a["content"] for t, a in found.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy
    assert "script-src 'none'" in policy


@pytest.mark.parametrize("where", ["title", "subtitle", "command", "version"])
def test_what_a_page_is_given_is_text(tmp_path, where):
    found = Elements(write_page(page(**{where: NASTY}), tmp_path).read_text())
    assert "b" not in [tag for tag, _ in found.tags]
    assert NASTY.replace("\udcff", "?") in found.text or where == "version"


def test_text_in_facts_tiles_tables_and_data_is_text(tmp_path):
    table = Table(NASTY, NASTY, [NASTY, NASTY], [[NASTY, Cell(NASTY, good=False, link="a.html")]])
    widget = Widget(figure(), "<p>chart</p>", "0;", {"text": NASTY})
    section = Section(NASTY, NASTY, tables=[table], widgets=[widget])
    nasty = page(facts=[(NASTY, NASTY)], tiles=[Tile(NASTY, NASTY, NASTY)], sections=[section])
    found = Elements(write_page(nasty, tmp_path).read_text())
    assert "b" not in [tag for tag, _ in found.tags]
    assert sum(tag == "script" for tag, _ in found.tags) == 2


def test_a_table_has_headers_for_its_rows_and_columns(tmp_path):
    table = Table("Waits", "In minutes.", ["", "mean"], [["all", "3.1"], ["paired", Cell("4", good=True)]])
    found = Elements(write_page(page(sections=[Section("One", tables=[table])]), tmp_path).read_text())
    scopes = [attributes.get("scope") for tag, attributes in found.tags if tag == "th"]
    assert scopes == ["col", "col", "row", "row"]
    assert "✓" in found.text


def test_a_page_without_figures_makes_no_folder_for_them(tmp_path):
    write_page(page(sections=[Section("One", "Text.")]), tmp_path)
    assert not (tmp_path / "figures").exists()
