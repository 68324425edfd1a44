"""Reports of replays: what they say, made by `cosched report` and beside a replay's files."""

import json
import subprocess

import pytest

from cosched.words.errors import InputError
from cosched_sim.configuration import Domain
from cosched_sim.reports.of_comparison import comparison_page
from cosched_sim.reports.of_replay import replay_page
from cosched_sim.reports.rebuilding import rebuild
from cosched_sim.reports.run import read_run
from cosched_sim.reports.summary import read_comparison
from tests.cli.conftest import CONSOLE_SCRIPT, tree
from tests.sim.reports.page_examples import written
from tests.sim.reports.runs import work

ALONE = [Domain(name="alone", trace=work("log", (0, 100, 2), (10, 100, 4), ids=["x", "y"]), nodes=4)]


def cosched(*args, cwd):
    command = [CONSOLE_SCRIPT, *map(str, args)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=600)


@pytest.fixture
def run(reported):
    return read_run(reported)


def test_the_main_numbers_are_those_of_the_summary(run):
    tiles = {tile.label: tile.value for tile in replay_page(run).tiles}
    pairs, domains = run.summary["pairs"], run.summary["domains"].values()
    assert tiles["pairs together"] == f"{pairs['together']:,}"
    assert tiles["lost node-hours"] == f"{sum(d['held_node_seconds'] for d in domains) / 3600:,.0f}"
    assert list(tiles) == ["pairs together", "mean wait", "mean sync time", "lost node-hours", "utilisation"]


def of_alone(tmp_path, run_s: int):
    log = work("log", (0, 100, 2), (10, run_s, 4))
    return read_run(written(tmp_path, [Domain(name="alone", trace=log, nodes=4)]))


@pytest.mark.parametrize(("run_s", "titles"), [(100, ["(bounded) slowdown"]), (9, ["slowdown", "bounded slowdown"])])
def test_bounded_slowdowns_are_told_only_where_they_differ(tmp_path, run_s, titles):
    """They differ where a run is below 10 s."""
    table = next(
        table for section in replay_page(of_alone(tmp_path, run_s)).sections for table in section.tables
        if table.title == "Jobs of alone"
    )  # fmt: skip
    told = [row[0].partition(", all")[0] for row in table.rows]
    assert [title for title in told if "slowdown" in title] == titles


def test_a_page_says_what_was_run(run):
    page = replay_page(run)
    assert page.title == "Replay of intrepid and eureka"
    assert page.command == run.summary["command"]
    assert dict(page.facts)["intrepid"].startswith("40,960 nodes, scheme hold, policy wfp, easy backfilling; ")
    assert {section.title for section in page.sections} >= {"Results in numbers", "Every job", "What was left out"}


def test_tables_have_a_row_for_each_measure_and_group(run):
    machines, intrepid, _ = replay_page(run).sections[0].tables
    assert machines.header == ["", "intrepid", "eureka"]
    assert [row[0] for row in intrepid.rows][:3] == ["wait, all", "wait, paired", "wait, unpaired"]
    assert [row[0] for row in intrepid.rows][-1] == "sync time, paired"


def test_one_machine_without_pairs_has_a_report(tmp_path):
    page = replay_page(read_run(written(tmp_path, ALONE)))
    assert page.title == "Replay of alone"
    assert [tile.label for tile in page.tiles] == ["mean wait", "mean slowdown", "utilisation"]


def test_what_was_left_out_is_said_with_the_reason(tmp_path):
    (tmp_path / "log.csv").write_text("job_id,submit,run,nodes\na,0,10,1\nb,0,10,99\n")
    domains = [Domain(name="alone", trace=str(tmp_path / "log.csv"), nodes=4)]
    left_out = replay_page(read_run(written(tmp_path / "run", domains))).sections[-1]
    assert [list(row) for row in left_out.tables[0].rows] == [["larger than the machine", "1"]]


def test_a_replay_writes_its_report_and_the_command_report_makes_the_same(tmp_path):
    domain = ("--domain", "eureka,trace=generated:eureka/jobs=30/days=1")
    assert cosched("replay", *domain, "--out", "run", cwd=tmp_path).returncode == 0
    assert {"report.html", "figures/gantt.svg", "summary.json"} <= set(tree(tmp_path / "run"))
    page = (tmp_path / "run/report.html").read_bytes()
    (tmp_path / "run/report.html").unlink()
    done = cosched("report", "run", cwd=tmp_path)
    assert (done.stdout, done.stderr, done.returncode) == ("run/report.html\n", "", 0)
    assert (tmp_path / "run/report.html").read_bytes() == page


def test_a_comparison_has_a_page_with_a_row_and_a_bar_for_each_combination(tmp_path):
    logs = [f"{name},trace=generated:{name}/jobs={jobs}/days=1" for name, jobs in (("intrepid", 60), ("eureka", 20))]
    args = ("--domain", logs[0], "--domain", logs[1], "--pair-window", "10m", "--compare", "--out", "all")
    done = cosched("replay", *args, "--no-report", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    section, differences = comparison_page(read_comparison(tmp_path / "all/comparison.json")).sections
    assert [row[0] for row in differences.tables[0].rows] == ["HH", "HY", "YH", "YY"]
    for table in section.tables:
        assert [row[0].text for row in table.rows] == ["none", "HH", "HY", "YH", "YY"]
        assert [row[0].link for row in table.rows][1] == "HH/report.html"
    bars = section.figures[0].table
    assert bars["series"].unique(maintain_order=True).to_list() == ["HH", "HY", "YH", "YY"]
    assert len(bars) == 4 * 4 * 2
    assert bars.filter(panel="Wait")["base"].null_count() == 0


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda run: (run / "summary.json").unlink(), "run: holds no results"),
        (lambda run: (run / "jobs.csv").unlink(), "run/jobs.csv: "),
        (lambda run: (run / "summary.json").write_text('{"version"'), "run/summary.json:1: "),
        (lambda run: (run / "jobs.csv").write_bytes((run / "jobs.csv").read_bytes()[:-30]), "run/jobs.csv"),
        (lambda run: without(run, "queue_length"), "run/summary.json:domains.alone.queue_length: "),
        (lambda run: without(run, "all", "wait_s"), "run/summary.json:domains.alone.all.wait_s: "),
        (lambda run: without(run, "all", "wait_s", "mean"), "run/summary.json:domains.alone.all.wait_s.mean: "),
    ],
)
def test_damaged_files_are_named_in_one_line(tmp_path, damage, said):
    damage(written(tmp_path / "run", ALONE))
    with pytest.raises(InputError) as caught:
        rebuild(tmp_path / "run")
    assert str(caught.value).startswith(f"{tmp_path}/{said}")
    assert "\n" not in str(caught.value)


def test_a_folder_without_a_run_is_refused(tmp_path):
    done = cosched("report", "nothing", cwd=tmp_path)
    assert (done.stdout, done.returncode) == ("", 2)
    assert done.stderr.startswith("cosched: nothing: no such folder")


def without(run, *keys):
    summary = json.loads((run / "summary.json").read_text())
    inner = summary["domains"]["alone"]
    for key in keys[:-1]:
        inner = inner[key]
    del inner[keys[-1]]
    (run / "summary.json").write_text(json.dumps(summary))
