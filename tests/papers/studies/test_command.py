"""`cosched study`, from its arguments to the files."""

import csv
import json
from pathlib import Path

import pytest

from cosched_papers.studies.tang2011.claims import claims
from cosched_papers.studies.tang2011.comparisons import statements
from cosched_sim.workload import traces
from cosched_sim.workload.generate import generate
from tests.browser import opened

FIGURES = {f"figure-{number:02}" for number in range(3, 11)}
SENSITIVITIES = {
    "release-interval", "held-cap", "yield-limit", "yield-boost", "pair-window", "estimates", "unreachable",
}  # fmt: skip


@pytest.mark.soak
def test_from_real_logs_to_the_report(cosched, tmp_path):
    """All of the study: two windows of logs, tables, figures, page."""
    for machine, nodes in (("intrepid", 49_152), ("eureka", 100)):
        jobs = generate(machine, span_s=8 * 86_400, utilisation=0.6, seed=1)
        racks = dict.fromkeys(("MaxProcs", "MaxNodes"), str(2 * nodes))
        traces.write_swf(jobs, tmp_path / f"{machine}.swf", racks if machine == "intrepid" else {"MaxNodes": "100"})
    logs = ("--intrepid", "intrepid.swf,nodes=49152", "--eureka", "eureka.swf")
    result = cosched("study", "tang2011", "--quick", "--days", 2, "--replications", 2, *logs, "--out", "out")
    out = tmp_path / "out"
    assert "2 replications: windows of 2 days of the logs intrepid.swf" in result.stdout
    assert "report.html" in result.stdout
    assert "A quick study: " in result.stdout
    assert json.loads((out / "study.json").read_text())["facts"]["intrepid nodes"] == 49_152
    assert {path.stem for path in (out / "tables").iterdir()} == {
        "paper", "claims", "averages", "deadlocks", "release-order", *(f"sensitivity-{name}" for name in SENSITIVITIES),
    }  # fmt: skip
    drawn = {path.name for path in (out / "figures").iterdir()}
    stems = FIGURES | {f"sensitivity-{name}" for name in SENSITIVITIES}
    assert drawn == {f"{stem}.{kind}" for stem in stems for kind in ("svg", "png", "csv")}
    check_tables(out)
    check_page(out)


def read_table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


def check_tables(out: Path) -> None:
    numbers = read_table(out / "tables" / "paper.csv")
    assert [row["what"] for row in numbers] == [statement.what for statement in statements()]
    assert all(row["ours"] for row in numbers)
    together = next(row for row in numbers if row["what"] == "Pairs that start together (%)")
    assert together["agrees"] == "holds"
    checked = read_table(out / "tables" / "claims.csv")
    assert [row["claim"] for row in checked] == [claim.text for claim in claims()]
    assert all(row["verdict"] == "holds" or row["reason"] for row in checked)
    markdown = (out / "results.md").read_text()
    assert all(f"| {statement.what} |" in markdown for statement in statements())


def check_page(out: Path) -> None:
    with opened(out / "report.html") as page:
        assert page.locator("figure").count() == len(FIGURES) + len(SENSITIVITIES)
        assert page.locator("figure svg").count() == len(FIGURES) + len(SENSITIVITIES)
        assert "Fig. 3: average wait" in page.inner_text("main")
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide == 0


def test_each_study_shows_its_own_options(cosched):
    assert "--replications" in cosched("study", "tang2011", "-h").stdout
    of_reference = cosched("study", "reference", "-h").stdout
    assert "--check" in of_reference
    assert "--replications" not in of_reference
    assert all(name in cosched("study", "-h").stdout for name in ("tang2011", "meet", "reference"))


def test_without_a_name_the_studies_are_listed_with_their_times(cosched):
    listed = cosched("study").stdout
    assert [line.split()[0] for line in listed.splitlines()[:10]] == [
        "study", "barsanti2006", "collins2001", "dail2002", "fluid", "groups", "meet", "tang2011", "weissman2004",
        "reference"
    ]  # fmt: skip
    assert "two minutes" in next(line for line in listed.splitlines() if line.startswith("tang2011"))
    assert "--resume continues it" in listed


def test_an_unknown_study(cosched):
    result = cosched("study", "feitelson1997", exit_code=2)
    assert (
        result.stderr == "cosched: cosched study: no study is called 'feitelson1997'; "
        "there are barsanti2006, collins2001, dail2002, fluid, groups, meet, tang2011, weissman2004, reference\n"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--intrepid", "x.swf"], "--eureka: missing: --intrepid needs it"),
        (["--eureka", "x.swf"], "--intrepid: missing: --eureka needs it"),
        (["--intrepid", "x.swf,load=1", "--eureka", "y"], "--intrepid:load: no key of a log; there are nodes, "),
        (["--intrepid", "x.swf,nodes", "--eureka", "y"], "--intrepid: key=value expected, not 'nodes'"),
        (["--workers", "1", "--dask", "tcp://127.0.0.1:9"], "--dask: has its own workers"),
    ],
)
def test_mistakes(cosched, options, message):
    assert cosched("study", "tang2011", *options, exit_code=2).stderr.startswith(f"cosched: {message}")


def test_the_reference_suite(cosched, tmp_path):
    assert "workloads are right" in cosched("study", "reference", "--out", "suite").stderr
    assert (tmp_path / "suite").is_dir()
    cosched("study", "reference", "--check", "suite/results")
    (tmp_path / "empty").mkdir()
    cosched("study", "reference", "--check", "empty", exit_code=2)
