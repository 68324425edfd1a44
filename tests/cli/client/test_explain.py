"""`cosched explain`: when a job and its mate start, why each waits, and what changes it."""

import json

import pytest
from google.protobuf.text_format import Parse

from cosched.v1 import job_pb2
from cosched.v1.explain_pb2 import Explanation
from tests.client.fake_domain import EPOCH, EUREKA_3

TOLD = f"""
job {{
  job {{ domain: "intrepid" job_id: "17" }} state: JOB_STATE_QUEUED position: 3 queued: 12
  start {{
    at {{ seconds: {EPOCH + 3600} }} made_at {{ seconds: {EPOCH} }} source: ESTIMATE_SOURCE_PLAN
    accuracy {{ earliest {{ seconds: -180 }} latest {{ seconds: 1500 }} within: 8 of: 10 }}
  }}
  reason {{ nodes_busy {{ required: 4 available: 1 }} text: "it needs 4 nodes, 1 is free" change: "fewer nodes" }}
}}
mates {{
  job {{ domain: "eureka" job_id: "3" }} state: JOB_STATE_HOLDING
  start {{ at {{ seconds: {EPOCH} }} source: ESTIMATE_SOURCE_HAS_NODES }}
  reason {{
    mate_waits {{ mate {{ domain: "intrepid" job_id: "17" }} held: 2 held_until {{ seconds: {EPOCH + 600} }} }}
    text: "it holds 2 nodes"
  }}
}}
together {{ at {{ seconds: {EPOCH + 3600} }} made_at {{ seconds: {EPOCH} }} source: ESTIMATE_SOURCE_PLAN }}
"""


@pytest.fixture
def _told(utc, domain):  # noqa: ARG001
    domain.explanations["17"] = Parse(TOLD, Explanation())
    domain.add(nodes=4)


def add_told(domain, **known):
    """Job 17, and what is said of it: of itself these."""
    told = domain.explanations["17"] = Explanation(job={"job": domain.add().ref, **known})
    return told


@pytest.mark.usefixtures("_told")
def test_when_and_why(cosched):
    shown = cosched("explain", "17").stdout.splitlines()
    assert shown[0] == "intrepid:17 queued"
    told = "2026-01-01 01:00:00, in 0 s; 8 of the last 10 such waits were 0.95 to 1.4 times as long (the plan's"
    assert shown[1].startswith(f"  start     {told} estimate, ")
    assert shown[2:-1] == [
        "  place     3 of 12 in the queue", "  why       it needs 4 nodes, 1 is free", "  change    fewer nodes",
        "eureka:3    holding", "  start     now: it has its nodes", "  why       it holds 2 nodes",
    ]  # fmt: skip
    assert shown[-1].startswith("together    2026-01-01 01:00:00, in 0 s (")


@pytest.mark.usefixtures("_told")
def test_a_pair_by_its_name(cosched, domain):
    assert "no job of intrepid is in a group or a pair run7" in cosched("explain", "run7", exit_code=1).stderr
    domain.jobs["17"].mates.add().name.pair.name = "run7"
    assert cosched("explain", "run7").stdout == cosched("explain", "17").stdout
    assert cosched("efficiency", "run7").stdout == cosched("efficiency", "17").stdout
    assert "\ntogether     2026-01-01 01:00:00, in 0 s (" in cosched("show", "run7").stdout


@pytest.mark.parametrize(("ran", "shown"), [(0, ""), (30, "\nefficient   33.3%\n")])
def test_there_is_no_efficiency_without_a_run(cosched, domain, ran, shown):
    told = add_told(domain, nodes=2, cost={"held": 120})
    told.job.started_at.seconds, told.job.ended_at.seconds = EPOCH, EPOCH + ran
    told_efficiency = cosched("efficiency", "17").stdout
    assert "charged     0.03 node-hours" in told_efficiency
    assert told_efficiency.partition("node-hours\n")[2].rpartition("node-hours")[2].strip() == shown.strip()


@pytest.mark.parametrize(("ended", "shown"), [(True, "efficient   50.0%\n"), (False, "")])
def test_a_job_that_ended_with_its_mate_counts_as_any_other_also_if_it_never_ran(cosched, domain, ended, shown):
    told = add_told(domain, nodes=2, cost={"held": 120})
    told.job.started_at.seconds, told.job.ended_at.seconds = EPOCH, EPOCH + 60
    mate = told.mates.add(job=EUREKA_3, state=job_pb2.JOB_STATE_CANCELLED, nodes=4)
    if ended:
        mate.ended_at.seconds = EPOCH + 60
    assert cosched("efficiency", "17").stdout.partition("0.03 node-hours\n")[2].endswith(shown)
    assert ("efficient" in cosched("efficiency", "17").stdout) is ended


def test_the_skew_is_the_gap_that_was_measured_whatever_the_clocks_say(cosched, domain):
    told = add_told(domain)
    mate = told.mates.add(job=EUREKA_3, state=job_pb2.JOB_STATE_RUNNING, starting=True)
    told.job.started_at.seconds, mate.started_at.seconds = EPOCH, EPOCH + 3600
    assert "\neureka:3    starting\n" in cosched("efficiency", "17").stdout
    assert "\nskew        1 h\n" in cosched("efficiency", "17").stdout
    told.job.gap.FromMilliseconds(-5400)
    assert "\nskew        5 s\n" in cosched("efficiency", "17").stdout


def test_names_of_any_length_stand_apart_and_windows_are_told(cosched, domain):
    domain.add()
    told = domain.explanations["17"] = Parse(TOLD, Explanation())
    told.job.job.job_id, told.mates[0].job.job_id = "443", "1"
    group = domain.jobs["17"].group
    group.name = "run7"
    window = group.windows.add(domain="eureka")
    window.earliest.seconds = window.latest.seconds = 10
    shown = cosched("explain", "17").stdout.splitlines()
    assert [line for line in shown if not line.startswith("  ")][:3] == [
        "intrepid:443 queued", "eureka:1     holding", "window       after the others start eureka +0:10",
    ]  # fmt: skip
    assert cosched("efficiency", "17").stdout.startswith("intrepid:443 queued\n")


def test_a_place_in_a_batch_system_s_queue_is_estimated(cosched, domain):
    domain.add()
    told = domain.explanations["17"] = Parse(TOLD, Explanation())
    told.job.position_at.GetCurrentTime()
    assert "\n  place     about 3 of 12 in the queue (by the batch system's order, " in cosched("explain", "17").stdout


@pytest.mark.usefixtures("_told")
def test_every_value_as_json(cosched):
    whole = json.loads(cosched("explain", "intrepid:17", "--json").stdout)
    assert whole["job"]["reason"] == {
        "kind": "nodes_busy", "detail": {"required": 4, "available": 1},
        "text": "it needs 4 nodes, 1 is free", "change": "fewer nodes",
    }  # fmt: skip
    assert whole["job"]["start"]["earliest"] == -180
    [mate] = whole["mates"]
    assert mate["reason"]["detail"] == {"mate": "intrepid:17", "held": 2, "held_until": "2026-01-01T00:10:00Z"}
    assert whole["together"]["of"] == 0


@pytest.mark.usefixtures("_told")
def test_show_tells_it_too(cosched):
    shown = cosched("show", "17").stdout
    assert "\nplace       3 of 12 in the queue\nwhy         it needs 4 nodes, 1 is free\n" in shown
    assert "\nits mate    start: now: it has its nodes; why: it holds 2 nodes\n" in shown
    assert "\ntogether    2026-01-01 01:00:00, in 0 s (" in shown
    assert json.loads(cosched("show", "17", "--json").stdout)["explanation"]["job"]["position"] == 3


def test_an_older_domain(cosched, domain):
    domain.add()
    assert "place" not in cosched("show", "17").stdout
    assert "its version is older" in cosched("explain", "17", exit_code=1).output
