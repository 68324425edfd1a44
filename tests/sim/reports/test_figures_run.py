"""Runs read back from their files."""

import json
import re

import pytest
from matplotlib.figure import Figure as Canvas

from cosched.words.errors import InputError
from cosched_sim.reports.figures.actions import held_figure
from cosched_sim.reports.run import read_run
from tests.sim.reports.runs import domain, run_of


@pytest.fixture
def folder(tmp_path):
    """Two coupled domains: job 1 of A holds 6 of 10 nodes from 0 to 100, since B is busy until then."""
    domains = [
        domain("A", 10, (0, 50, 6), (10, 20, 10), max_held_fraction="1"),
        domain("B", 4, (0, 100, 4), (5, 30, 4)),
    ]
    run_of(tmp_path, domains, [(1, 2)])
    return tmp_path


def test_a_run_is_what_its_files_say(folder):
    run = read_run(folder)
    a, b = run.domains
    assert [d.name for d in run.domains] == ["A", "B"]
    assert (a.nodes, b.nodes) == (10, 4)
    assert a.jobs["job_id"].to_list() == ["1", "2"]
    assert a.jobs["start"].to_list() == [100, 150]
    assert a.jobs["mate_job_id"].to_list() == ["2", None]
    assert a.holds.rows() == [("1", 6, 0, 100, "started")]
    assert b.holds.rows() == []
    assert a.yields.columns == ["time", "yields"]
    assert (run.first, run.last) == (0, 170)
    assert run.paired
    assert run.coscheduled
    assert run.summary["pairs"]["together"] == 1


def test_holds_and_yields_are_not_recorded_where_there_are_no_such_files(folder):
    (folder / "holds.csv").unlink()
    (folder / "yields.csv").unlink()
    assert {(d.holds, d.yields) for d in read_run(folder).domains} == {(None, None)}


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("summary.json", "{", "[", "summary.json:2: not JSON"),
        ("summary.json", '"domains"', '"domain"', "summary.json:domains: missing or of a wrong type"),
        ("summary.json", '"makespan_s": 170', '"makespan_s": "170"', "summary.json:domains.A.makespan_s: missing"),
        ("summary.json", '"jobs": 2', '"jobs": 3', "jobs.csv: has 2 jobs of A, and summary.json speaks of 3"),
        ("jobs.csv", "run_s", "run", "jobs.csv:1: the columns must be domain,job_id,submit"),
        ("jobs.csv", "A,2,10", "A,2,ten", "jobs.csv:3: submit 'ten' is not a whole number"),
        ("jobs.csv", "A,2,10", "A,2,", "jobs.csv:3: submit is missing"),
        ("jobs.csv", "A,2,10", "C,2,10", "jobs.csv: names the domain C, and summary.json does not"),
        ("holds.csv", "A,1,6,0,100", "A,1,6,0,1000", "holds.csv: has times of A outside the run"),
        ("holds.csv", "A,1,6,0,100", "A,1,6,0,100,", "holds.csv: not a CSV file"),
        ("yields.csv", "domain,time,yields", "", "yields.csv: not a CSV file"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_what_is_wrong(folder, file, old, new, message):
    path = folder / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=re.escape(f"{folder}/{message}")) as caught:
        read_run(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("file", ["summary.json", "jobs.csv"])
def test_a_missing_file_is_named(folder, file):
    (folder / file).unlink()
    with pytest.raises(InputError, match=f"{file}: No such file or directory"):
        read_run(folder)


def test_a_summary_without_domains_is_refused(folder):
    summary = json.loads((folder / "summary.json").read_text())
    (folder / "summary.json").write_text(json.dumps({**summary, "domains": {}}))
    with pytest.raises(InputError, match=r"summary\.json:domains: "):
        read_run(folder)


def test_a_machine_that_held_no_nodes_says_so_instead_of_showing_an_empty_scale(folder):
    figure = held_figure(read_run(folder))
    canvas = Canvas()
    figure.draw(canvas)
    first, second = (axes for axes in canvas.axes if axes.get_title())
    assert [text.get_text() for text in second.texts] == ["no nodes were held"]
    assert not second.get_yticks().size
    assert not first.texts
