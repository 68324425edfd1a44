"""Every workload is whole, says what it says elsewhere too, and its schedule is that of the slow simulator."""

import re
import tomllib

import pytest

from cosched_sim.flags import replay_settings
from cosched_sim.reference.suite import SUITE, Workload, known_mistakes, workloads
from cosched_sim.workload import traces

from . import slowly

ALL = workloads()
each_workload = pytest.mark.parametrize("workload", ALL, ids=[workload.name for workload in ALL])
FILES = {"A.swf", "README.md", "expected.csv", "mistakes.csv", "replay.toml"}
SECTIONS = ("## Jobs", "## By hand", "## What it exposes")


def test_they_are_numbered_and_those_of_one_cluster_come_first():
    assert len(ALL) >= 30
    assert [workload.name[:3] for workload in ALL] == [f"{number:02}-" for number in range(1, len(ALL) + 1)]
    assert sorted(ALL, key=lambda workload: workload.paired) == ALL


@each_workload
def test_the_folder_is_complete(workload: Workload):
    there = {path.name for path in workload.folder.iterdir()}
    assert there == FILES | ({"B.swf", "pairs.csv"} if workload.paired else set())
    assert ("pairs" in workload.needs) is workload.paired
    settings = tomllib.loads((workload.folder / "replay.toml").read_text())
    assert [table["name"] for table in settings["domain"]] == (["A", "B"] if workload.paired else ["A"])


@each_workload
def test_the_explanation_has_all_its_parts(workload: Workload):
    text = workload.explanation
    assert workload.title
    assert all(workload.needs)
    parts = re.split("|".join(f"^{section}$" for section in SECTIONS), text, flags=re.MULTILINE)
    assert len(parts) == 1 + len(SECTIONS)
    assert all(len(part.strip()) > 25 for part in parts)


@each_workload
def test_the_explanation_names_every_instant_at_which_a_job_starts(workload: Workload):
    said = set(re.findall(r"\d+", workload.explanation.partition("## By hand")[2].partition("```")[0]))
    assert {row["start"] for row in workload.expected.values() if row["start"]} <= said


@each_workload
def test_the_explanation_shows_the_jobs_of_the_traces(workload: Workload):
    table = workload.explanation.split("```")[1]
    shown = [tuple(map(int, cells)) for line in table.splitlines() if (cells := line.split()) and is_job(cells)]
    lines = [line for path in sorted(workload.folder.glob("*.swf")) for line in slowly.read_lines(path)]
    if "cleaning" in workload.needs and not workload.paired:
        assert shown == lines
    else:
        assert shown == [(line.job_id, line.submit, line.run, line.requested, line.procs) for line in lines]


def is_job(cells: list[str]) -> bool:
    return all(re.fullmatch(r"-?\d+", cell) for cell in cells)


@each_workload
def test_the_traces_are_valid_and_state_what_the_settings_say(workload: Workload):
    for domain in replay_settings((), str(workload.folder / "replay.toml")).domains:
        log = traces.read_trace(domain.trace, "swf")
        assert log.header["Version"] == "2.2"
        assert log.header["MaxJobs"] == log.header["MaxRecords"] == str(len(log))
        assert int(log.header["MaxNodes"]) == domain.nodes
        assert int(log.header["MaxProcs"]) == domain.nodes * domain.procs_per_node
        if "cleaning" not in workload.needs:
            assert traces.clean(log, domain.nodes, domain.procs_per_node).rejected == {}


@each_workload
def test_the_schedule_is_that_of_the_slow_simulator(workload: Workload):
    found = slowly.schedule(slowly.read_case(workload.folder))
    assert {(domain, str(job_id)) for domain, job_id in found} == set(workload.expected)
    for (domain, job_id), row in workload.expected.items():
        outcome = found[domain, int(job_id)]
        values = {name: getattr(outcome, name) for name in row if name not in ("domain", "job_id")}
        told = {name: "" if value is None else str(value) for name, value in values.items()}
        assert told == {name: row[name] for name in values}


def test_what_cosched_leaves_out_of_the_dirty_trace():
    workload = next(workload for workload in ALL if workload.name.endswith("dirty-trace"))
    cleaned = traces.clean(traces.read_trace(workload.folder / "A.swf"), 10)
    assert list(cleaned.rejected.items()) == [
        ("no_run_time", 2), ("no_size", 1), ("larger_than_machine", 1), ("negative_submit", 1), ("duplicate_id", 1),
    ]  # fmt: skip


def test_the_tables_of_the_page_list_every_workload():
    page = (SUITE / "README.md").read_text()
    rows = [
        f"| [{workload.name}](workloads/{workload.name}/README.md) | {workload.title} | "
        f"{', '.join(need for need in workload.needs if need != 'pairs')} |"
        for workload in ALL
    ]
    assert [line for line in page.splitlines() if line.startswith("| [")] == rows
    assert page.splitlines()[2].startswith(f"The suite has {len(ALL)} small workloads")
    single = [workload.name[:2] for workload in ALL if not workload.paired]
    paired = [workload.name[:2] for workload in ALL if workload.paired]
    assert f"* {single[0]} to {single[-1]} have one cluster" in page
    assert f"* {paired[0]} to {paired[-1]} have two clusters" in page


@each_workload
def test_what_the_explanation_says_it_exposes_changes_the_schedule(workload: Workload):
    said = workload.explanation.partition("## What it exposes")[2]
    named = set(re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+)+)`", said))
    assert named
    assert named <= known_mistakes().keys()
    assert named <= workload.wrong.keys()
