"""`cosched groups`, `cosched wait`, `cosched mates`, and `cosched show` of a group."""

import json
from datetime import UTC, datetime

import pytest

from cosched.cli.client.wording import local_time
from cosched.v1 import coscheduling_pb2 as wire
from cosched.v1 import explain_pb2, job_pb2
from tests.client.fake_domain import EPOCH, EUREKA_3


@pytest.fixture(autouse=True)
def nowhere_else(monkeypatch):
    """No other domain has a known address, and this is not a job."""
    for name in ("COSCHED_DOMAINS", "COSCHED_JOB_ID", "SLURM_JOB_ID", "PBS_JOBID"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def member(domain):
    """Job 17, in the group run7 with a job of eureka; none of mira is known."""
    job = domain.add(name="flow", state=job_pb2.JOB_STATE_HOLDING, reason="MateUnsubmitted")
    job.group.name = "run7"
    job.group.members.add(domain="eureka", status=wire.MATE_STATUS_QUEUING, job=EUREKA_3)
    job.group.members.add(domain="mira")
    return job


@pytest.mark.usefixtures("member")
def test_groups_are_listed_with_what_is_known(cosched, domain):
    domain.add(name="alone")
    assert cosched("groups").stdout == (
        "GROUP  JOBID  NAME  USER   ST  REASON           OTHER MEMBERS\n"
        "run7      17  flow  alice  HO  MateUnsubmitted  eureka:3 queuing, mira\n"
    )
    [job] = json.loads(cosched("groups", "--json").stdout)
    assert [other["id"] for other in job["group"]["members"]] == ["3", None]
    assert "run7@eureka+mira" in cosched("queue").stdout
    shown = cosched("show", "17").stdout.splitlines()
    assert "group       run7; its group has eureka:3 (queuing), no job on mira yet" in shown


def test_a_group_of_which_others_are_to_start_is_not_over(cosched, domain, member):
    """Its job here has started at the group's instant and has ended; mira's has a window after that."""
    member.state = job_pb2.JOB_STATE_COMPLETED
    member.ended_at.seconds = EPOCH + 60
    domain.domain.now.seconds = EPOCH + 81
    mira = member.group.members[1]
    mira.starts_by.seconds = EPOCH + 600
    by = local_time(datetime.fromtimestamp(EPOCH + 600, UTC))
    assert cosched("groups").stdout.splitlines()[1].endswith(f"mira starts by {by}")
    domain.domain.now.seconds = EPOCH + 600
    assert len(cosched("groups").stdout.splitlines()) == 1
    assert cosched("groups", "--all").stdout.splitlines()[1].endswith("mira")


@pytest.mark.usefixtures("member")
def test_a_group_is_shown_as_far_as_its_domains_are_known(cosched, domain):
    domain.happen(5, "is ready on 1 node", "17")
    shown = cosched("show", "run7")
    assert shown.stdout.splitlines()[:4] == [
        "group        run7",
        "intrepid:17  holding (MateUnsubmitted: another member of its group is not submitted yet); alice, 1 node",
        "eureka       not known here",
        "mira         not known here",
    ]
    assert shown.stdout.endswith("intrepid:17  is ready on 1 node\n")
    assert "the address of domain eureka is not known" in shown.stderr
    told = json.loads(cosched("show", "run7", "--json").stdout)
    assert ([job["id"] for job in told["jobs"]], [*told["unasked"]]) == (["17"], ["eureka", "mira"])
    assert "no job of intrepid is in a group or a pair run8" in cosched("show", "run8", exit_code=1).stderr


@pytest.mark.usefixtures("member")
def test_domains_that_are_known_by_name_suffice(cosched, address, domain, monkeypatch):
    """As after cosched submit --to, which finds its domains so."""
    domain.explanations["17"] = explain_pb2.Explanation(job={"job": domain.jobs["17"].ref})
    monkeypatch.delenv("COSCHED_SERVER")
    monkeypatch.setenv("COSCHED_DOMAINS", f"eureka=unix:none,intrepid={address}")
    for name in ("run7", "intrepid:17"):
        for command in ("show", "explain", "efficiency"):
            assert "intrepid:17" in cosched(command, name).stdout, command
    assert cosched("wait", "intrepid:17", "--timeout", "0:01", exit_code=1).stderr.endswith("intrepid:17 (holding)\n")
    assert "was cancelled" in cosched("cancel", "intrepid:17").stdout
    said = "set COSCHED_SERVER, or name the job as DOMAIN:ID, of eureka, intrepid"
    for name in ("17", "mira:17"):
        assert said in cosched("explain", name, exit_code=2).stderr
    monkeypatch.setenv("COSCHED_DOMAINS", f"intrepid={address}")
    assert "intrepid:17" in cosched("explain", "17").stdout
    assert "flow" in cosched("queue", "--all").stdout


def test_waiting_ends_with_the_jobs(cosched, domain, member):
    member.state = job_pb2.JOB_STATE_RUNNING
    member.started_at.seconds = EPOCH
    failed = domain.add(state=job_pb2.JOB_STATE_FAILED)
    assert cosched("wait", "--started", "17").stdout == "intrepid:17 running\n"
    late = cosched("wait", "--timeout", "0:01", "17", exit_code=1)
    assert late.stderr == "cosched: not yet: intrepid:17 (running)\n"
    member.state = job_pb2.JOB_STATE_COMPLETED
    assert cosched("wait", "17", "intrepid:17").stdout == "intrepid:17 completed\n" * 2
    both = cosched("wait", "--json", "17", failed.ref.job_id, exit_code=1)
    assert [job["state"] for job in json.loads(both.stdout)] == ["completed", "failed"]
    assert "the address of domain eureka is not known" in cosched("wait", "run7", exit_code=1).stderr


def test_what_is_no_job_has_no_mates(cosched):
    assert "not inside a job: name one by its ID" in cosched("mates", exit_code=2).stderr
