"""Replays with fluid domains: from a log and settings to the files of results."""

import json
from collections import Counter, defaultdict
from pathlib import Path

import polars
import pytest

import cosched_sim as sim
from cosched.words.errors import InputError
from cosched_sim.flags import replay_settings
from cosched_sim.reports.gantt.layout import Pieces, lay_out
from cosched_sim.reports.of_replay import write_report
from cosched_sim.reports.run import RunDomain, read_run
from cosched_sim.results.output import RunInfo, write_run
from tests.reference.fluid import HARVESTING, Machine, Rules
from tests.reference.fluid_workloads import random_case
from tests.tiers import seeds

FIGURE_3B = """job_id,submit,run,nodes,min
1,0,100,4,2
2,0,100,4,2
3,10,30,4,4
4,12,30,4,4
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    path.write_text(FIGURE_3B)
    return path


def replayed(*domains: str, **options):
    return sim.run(replay_settings(domains, None, **options))


def refused(*domains: str, **options) -> str:
    with pytest.raises(InputError) as caught:
        replayed(*domains, **options)
    return str(caught.value)


def test_figure_3b_in_tables(log, tmp_path):
    """Figure 3(b): J1 and J2 give two processors each to J3, and get them back when J4 has ended."""
    result = replayed(f"a,trace={log},nodes=8,scheduler=fluid,distribution=favor_queued", events=True)
    said = write_run(result, tmp_path / "out", RunInfo("replay", 0, 0.0))["domains"]["a"]
    assert said["fluid"]["harvests"] == 1
    assert said["fluid"]["jobs_harvested"] == 2
    assert (said["fluid"]["mean_run_s"], said["fluid"]["mean_total_s"]) == (80, 87)
    assert said["fluid"]["jobs_per_hour"] == 3600 * 4 / 130
    assert said["utilisation"] == 1
    had = polars.read_csv(tmp_path / "out" / "allocations.csv")
    of_first = had.filter(polars.col("job_id") == 1).select("nodes", "start", "end", "ended").rows()
    assert of_first == [(4, 0, 10, "resized"), (2, 10, 70, "resized"), (4, 70, 130, "completed")]
    events = [json.loads(line) for line in (tmp_path / "out" / "events.jsonl").read_text().splitlines()]
    assert {"time": 10, "domain": "a", "job": "1", "event": "has another size", "nodes": 2, "gave_to": "3"} in events
    assert [event["event"] for event in events if event["time"] == 40] == ["completed", "started"]
    assert "1 harvest" in write_report(tmp_path / "out").read_text()


def test_a_fluid_domain_leaves_a_batch_domain_as_it_is(log):
    alone = replayed(f"b,trace={log},nodes=8")
    beside = replayed(f"a,trace={log},nodes=8,scheduler=fluid", f"b,trace={log},nodes=8", events=True)
    assert beside.frame("b", slice(None)).equals(alone.frame("b", slice(None)))
    assert beside.domains["b"].metrics == alone.domains["b"].metrics
    assert list(beside.domains) == ["a", "b"]


def test_the_chart_of_all_jobs_shows_every_size(tmp_path):
    """Jobs larger than the machine are among them; each allocation has its nodes, and no node two jobs."""
    domain = "a,trace=generated:gauss/jobs=24/beta=0.05,nodes=16,scheduler=fluid,harvesting=low_impact,min_share=0.1"
    had = (replay := replayed(domain)).domains["a"].allocations
    write_run(replay, tmp_path, RunInfo("replay", 0, 0.0))
    (fluid,) = read_run(tmp_path).domains
    assert fluid.summary["fluid"]["harvests"] > 3
    busy = int(had.nodes @ (had.end - had.start))
    assert fluid.summary["utilisation"] == pytest.approx(busy / (fluid.nodes * (fluid.last - fluid.first)))
    assert max(Counter(fluid.runs["job"].to_list()).values()) > 3
    check_layout(fluid, lay_out(fluid).runs)


def check_layout(domain: RunDomain, runs: Pieces) -> None:
    """Each allocation has its nodes, and no node two jobs; a job that is resized keeps what it can."""
    pieces = list(zip(*(getattr(runs, name).tolist() for name in runs.__slots__), strict=True))
    nodes = defaultdict(set)
    for job, first, count, begin, end in pieces:
        nodes[job, begin, end] |= set(range(first, first + count))
    had = domain.runs.filter(polars.col("start") < polars.col("end"))
    assert {key: len(taken) for key, taken in nodes.items()} == {(job, *span): n for job, n, *span in had.rows()}
    for (job, begin, end), taken in nodes.items():
        for (other, from_, to), others in nodes.items():
            if job == other and to == begin:
                assert len(taken & others) == min(len(taken), len(others))
            if job != other and from_ < end and begin < to:
                assert not taken & others


@pytest.mark.parametrize("seed", seeds(2, 60))
@pytest.mark.parametrize("harvesting", HARVESTING)
def test_agrees_with_the_slow_model(seed, harvesting, tmp_path):
    nodes, jobs, rules = random_case(seed, harvesting)
    lines = ["job_id,submit,run,nodes,min,model,resize_s,resize_bytes"]
    for number, job in enumerate(jobs):
        model = "parabolic" if job.parabolic else "linear"
        lines.append(f"{number},{job.submit},{job.run},{job.ideal},{job.least},{model},{job.fixed},{job.data}")
    (tmp_path / "log.csv").write_text("\n".join(lines))
    result = replayed(f"a,trace={tmp_path / 'log.csv'},nodes={nodes},{keys(rules)}")
    machine = Machine(nodes, jobs, rules).simulate()
    frame = result.frame("a", slice(None))
    assert frame["start"].to_list() == [job.start for job in machine.jobs]
    assert frame["end"].to_list() == [job.ended for job in machine.jobs]


def keys(rules: Rules) -> str:
    given = {
        "scheduler": "fluid",
        "harvesting": rules.harvesting,
        "distribution": "favor_running" if rules.favor_running else "favor_queued",
        "protect_age": rules.protect_age,
        "benefit": "on" if rules.benefit else "off",
    }
    given |= {name: int(n) for name in ("level", "max_harvests") if (n := getattr(rules, name)) != float("inf")}
    return ",".join(f"{key}={value}" for key, value in given.items())


def test_what_the_log_does_not_say_is_as_the_domain_says(tmp_path):
    """The least size is a share of the ideal one, half up: 5.4 are 5. T(9) = 100 (324 + 81) / 324 = 125."""
    (tmp_path / "log.csv").write_text("job_id,submit,run,nodes\n1,0,100,18\n2,0,100,4\n")
    domain = f"a,trace={tmp_path / 'log.csv'},nodes=10,scheduler=fluid,min_share=0.3,model=parabolic"
    assert replayed(domain).domains["a"].workload.columns["min"].tolist() == [5, 1]
    assert replayed(domain).frame("a", slice(None))["end"].to_list() == [125, 167]


def test_jobs_larger_than_the_machine_run_if_their_least_size_fits(tmp_path):
    (tmp_path / "log.csv").write_text("job_id,submit,run,procs,min\n1,0,100,16,8\n2,0,100,16,10\n")
    result = replayed(f"a,trace={tmp_path / 'log.csv'},nodes=4,procs_per_node=2,scheduler=fluid")
    assert result.domains["a"].workload.rejected == {"larger_than_machine": 1}
    assert result.frame("a", slice(None))["end"].to_list() == [200]


def test_mistakes_are_told_in_one_line(log):
    fluid = f"a,trace={log},nodes=8,scheduler=fluid"
    assert refused(f"{fluid},policy=wfp") == (
        "--domain a:policy: a fluid scheduler has none: remove it, or give scheduler=batch"
    )
    for key in ("mate_budget=0.5", "yield_boost=1"):
        assert refused(f"{fluid},{key}").endswith("a fluid scheduler has none: remove it, or give scheduler=batch")
    assert refused(f"a,trace={log},nodes=8,level=3") == (
        "--domain a:level: only a fluid scheduler has it: give scheduler=fluid, too"
    )
    assert refused(fluid, script="5 drain a 2\n") == (
        "script:1: a has a fluid scheduler: a script can change its jobs, but there is no drain"
    )
    assert refused(f"{fluid},min_share=0") == "--domain a:min_share: '0' is not above 0"
    assert refused(f"{fluid},harvesting=odd").startswith("--domain a:harvesting: 'odd' is not")


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        ("16777216,4,parabolic", "less than 16,777,216 s: shorten these, or make them linear"),
        ("9,1048577,parabolic", "at most 1,048,576 processors: make larger ones linear"),
        ("1000000000000,1000000000,linear", "the work of a job must be less than 2^62"),
    ],
)
def test_what_cannot_be_counted_exactly_is_refused(tmp_path, job, reason):
    (tmp_path / "log.csv").write_text(f"job_id,submit,run,nodes,model\n1,0,{job}\n")
    assert reason in refused(f"a,trace={tmp_path / 'log.csv'},nodes=1000000000,scheduler=fluid")


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ("4,5,linear", "column min: 5 is above the size of the job, 4"),
        ("4,2,cubic", "column model: 'cubic' is neither linear nor parabolic"),
    ],
)
def test_bad_columns_are_told_with_their_line(tmp_path, cells, reason):
    (tmp_path / "log.csv").write_text(f"job_id,submit,run,nodes,min,model\n1,0,100,{cells}\n")
    assert refused(f"a,trace={tmp_path / 'log.csv'},nodes=8,scheduler=fluid") == f"{tmp_path / 'log.csv'}:2: {reason}"
