"""The figures of ordinary and odd runs as files."""

import re
import struct
import xml.etree.ElementTree as ET
from pathlib import Path

import polars
import pytest
from matplotlib.figure import Figure as Canvas

import cosched_sim as sim
from cosched_sim.reports.figures.figure import Figure, write_figure
from cosched_sim.reports.figures.replay_figures import occupancy_figure, replay_figures
from cosched_sim.reports.figures.style import DOMAINS, GROUPS, SCHEMES, STATES
from cosched_sim.reports.run import Run
from tests.sim.reports.runs import domain, run_of, without_records

SMALL = "generated:eureka/jobs=60/days=1"
MACHINES = ["occupancy", "queue-length"]
JOBS = ["wait", "slowdown", "wait-by-size"]
ACTIONS = ["holds-and-yields", "held-node-hours"]
NAMESPACE = "{http://www.w3.org/2000/svg}"


def coupled(folder: Path, **settings) -> Run:
    domains = [sim.Domain(name=name, trace=f"{SMALL}/seed={seed}", **settings) for seed, name in enumerate("AB")]
    return run_of(folder, domains, pair_fraction=0.5)


def test_a_list_of_figures_is_short(tmp_path):
    """Numbers would fill screens."""
    listed = replay_figures(coupled(tmp_path))
    assert repr(listed[0]) == "<Figure occupancy: Node occupancy>"
    assert len(repr(listed)) < 80 * len(listed)


@pytest.mark.parametrize(("nodes", "ticks"), [(40_960, [0, 15_000, 30_000, 40_960]), (4, [0, 1, 2, 3, 4])])
def test_the_axis_of_nodes_ends_at_the_size_of_the_machine(tmp_path, nodes, ticks):
    canvas = Canvas()
    occupancy_figure(run_of(tmp_path, [domain("A", nodes, (0, 50, 2))])).draw(canvas)
    right = next(axes for axes in canvas.axes if axes.get_ylabel() == "nodes")
    assert right.get_yticks().tolist() == ticks
    assert right.get_ylim() == (0, nodes)


def names(run: Run) -> list[str]:
    return [figure.name for figure in replay_figures(run)]


def write_all(run: Run, folder: Path) -> dict[str, str]:
    folder.mkdir()
    return {figure.name: write_figure(figure, folder) for figure in replay_figures(run)}


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> tuple[Run, Path, dict[str, str]]:
    """An ordinary run, the folder of its figures, and their drawings for a page."""
    folder = tmp_path_factory.mktemp("written")
    run = coupled(folder / "run")
    return run, folder / "figures", write_all(run, folder / "figures")


def drawn(run: Run, name: str, folder: Path) -> str:
    return write_figure({figure.name: figure for figure in replay_figures(run)}[name], folder)


def words(svg: str) -> list[str]:
    return [text.text or "" for text in ET.fromstring(svg).iter(f"{NAMESPACE}text")]


def test_figures_are_written_as_svg_png_and_csv(written):
    run, folder, drawings = written
    assert list(drawings) == names(run) == [*MACHINES, *JOBS, "sync-time", "mates", *ACTIONS, "arrivals"]
    for figure in replay_figures(run):
        svg, png, csv = (folder / f"{figure.name}.{kind}" for kind in ("svg", "png", "csv"))
        assert ET.parse(svg).getroot().tag == f"{NAMESPACE}svg"
        width, height = struct.unpack(">II", png.read_bytes()[16:24])
        assert (width, height) == pytest.approx((150 * figure.size[0], 150 * (figure.size[1] + 0.3)), abs=1)
        assert polars.read_csv(csv).shape == figure.table.shape
        assert max(path.stat().st_size for path in (svg, png, csv)) < 300_000
    ids = re.findall(r'\bid="([^"]+)"', "".join(drawings.values()))
    assert len(ids) == len(set(ids))


def test_equal_runs_give_equal_files(written, tmp_path):
    run, folder, drawings = written
    for name in ("occupancy", "wait-by-size", "mates"):
        assert drawn(run, name, tmp_path) == drawings[name]
        for kind in ("svg", "png", "csv"):
            file = f"{name}.{kind}"
            assert (tmp_path / file).read_bytes() == (folder / file).read_bytes()


def test_the_svg_for_a_page_says_what_it_shows_and_refers_only_to_itself(tmp_path):
    def draw(canvas):
        axes = canvas.subplots()
        axes.bar([1, 2], [3, 4], hatch="//")
        axes.set_title("a < b & $c$")

    figure = Figure("it", "Waits & <more>", 'Means of "all".', polars.DataFrame({"x": [1]}), draw)
    svg = write_figure(figure, tmp_path)
    root = ET.fromstring(svg)
    assert root.attrib["role"] == "img"
    labels = root.attrib["aria-labelledby"].split()
    told = {child.attrib["id"]: child.text for child in root if child.tag in (f"{NAMESPACE}title", f"{NAMESPACE}desc")}
    assert [told[label] for label in labels] == [figure.title, figure.caption]
    assert "a < b & $c$" in words(svg)
    assert figure.title not in words(svg)
    assert figure.title in words((tmp_path / "it.svg").read_text())
    ids = set(re.findall(r'\bid="([^"]+)"', svg))
    links = set(re.findall(r'(?:url\(|href=")#([^")]+)', svg))
    assert links
    assert links <= ids
    assert all(name.startswith("it-") for name in ids)
    assert not re.search(r"https?://(?!www\.w3\.org/)", svg)


def test_every_panel_has_units_and_every_time_axis_an_origin(written):
    _, _, drawings = written
    for name in ("occupancy", "queue-length", *ACTIONS, "arrivals"):
        assert "hours since the start of the trace" in words(drawings[name])
    assert {"% of nodes", "nodes", "running", "held", "idle"} <= set(words(drawings["occupancy"]))
    assert "jobs waiting" in words(drawings["queue-length"])
    assert {"wait (logarithmic)", "share of jobs", "1 min"} <= set(words(drawings["wait"]))
    assert any(re.fullmatch(r"paired \(30 jobs\): median .*", text) for text in words(drawings["wait"]))


def test_one_domain_without_pairs_has_no_figures_of_pairs(tmp_path):
    run = run_of(tmp_path, [sim.Domain(name="alone", trace=SMALL)])
    assert names(run) == [*MACHINES, *JOBS, "arrivals"]
    assert "held" not in words(drawn(run, "occupancy", tmp_path))
    assert "paired ones among them" not in words(drawn(run, "queue-length", tmp_path))


def test_without_coscheduling_the_gaps_between_starts_are_shown(tmp_path):
    run = coupled(tmp_path, scheme="off")
    assert names(run) == [*MACHINES, *JOBS, "mates", "arrivals"]
    assert {"A's job started first", "B's job started first"} <= set(words(drawn(run, "mates", tmp_path)))


def test_what_was_not_recorded_is_said_and_not_drawn(written):
    run = without_records(written[0])
    assert names(run) == [*MACHINES, *JOBS, "sync-time", "mates", "arrivals"]
    occupancy = replay_figures(run)[0]
    assert "when they were held was not recorded" in occupancy.caption
    assert occupancy.table["held"].sum() == 0


def test_a_single_job_can_be_shown(tmp_path):
    drawings = write_all(run_of(tmp_path, [domain("A", 4, (1_300_000_000, 100, 2))]), tmp_path / "figures")
    assert list(drawings) == [*MACHINES, *JOBS]
    assert "seconds since the first submission" in words(drawings["occupancy"])


def deadlocked(folder: Path, *others: tuple[int, int, int]) -> Run:
    """Two pairs of jobs that hold against each other for ever; `others` are more jobs of the first domain."""
    never = {"release_interval": "0", "max_held_fraction": "1"}
    rows = ((0, 100, 6), (1, 100, 6))
    return run_of(folder, [domain("A", 10, *rows, *others, **never), domain("B", 10, *rows, **never)], [(1, 2), (2, 1)])


def test_jobs_that_never_started_wait_to_the_end_and_are_left_out_of_distributions(tmp_path):
    run = deadlocked(tmp_path, (500, 10, 2))
    assert names(run) == [*MACHINES, *JOBS, *ACTIONS, "arrivals"]
    figures = {figure.name: figure for figure in replay_figures(run)}
    assert figures["queue-length"].table.filter(to_s=run.last)["waiting"].to_list() == [2, 2]
    assert figures["wait"].table.rows() == [("A", "all", 0.0, 1.0)]
    assert "Without 4 jobs that never started" in figures["wait"].caption
    for name in JOBS:
        assert "no job started" in words(drawn(run, name, tmp_path))


def test_where_nothing_started_there_are_no_figures_of_jobs(tmp_path):
    assert list(write_all(deadlocked(tmp_path), tmp_path / "figures")) == [*MACHINES, *ACTIONS, "arrivals"]


def test_three_domains_have_a_panel_each(tmp_path):
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("A,B,C\n1,2,\n,3,4\n5,,6\n")
    domains = [sim.Domain(name=name, trace=f"{SMALL}/seed={seed}") for seed, name in enumerate("ABC")]
    run = run_of(tmp_path / "run", domains, pairs=str(pairs))
    assert {"A", "B", "C"} <= set(words(drawn(run, "wait", tmp_path)))
    assert {f"{name}'s job ready first" for name in "ABC"} <= set(words(drawn(run, "mates", tmp_path)))


def lightness(colour: str) -> float:
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue


@pytest.mark.parametrize("looks", [list(STATES.values()), list(SCHEMES.values()), list(GROUPS.values())])
def test_areas_differ_in_grey_print_by_lightness_or_hatch(looks):
    for i, one in enumerate(looks):
        for other in looks[:i]:
            assert one.colour != other.colour
            assert one.hatch != other.hatch or abs(lightness(one.colour) - lightness(other.colour)) > 0.1


@pytest.mark.parametrize("looks", [list(SCHEMES.values()), list(GROUPS.values()), list(DOMAINS)])
def test_lines_differ_in_dashes_and_markers(looks):
    assert len({str(look.line) for look in looks}) == len({look.marker for look in looks}) == len(looks)
