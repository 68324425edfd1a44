"""A pair on two real Slurm clusters, while parts of Slurm fail and its operators and users interfere."""

import os
import signal

import pytest

from cosched_adapters.slurm.versions import kills_hooks
from deploy.lab.processes import look
from deploy.slurm.lab import Domain, LabError
from tests.live.coupled import known
from tests.live.workloads import TOGETHER, Work
from tests.slurm.coupled_checks import START, Served, check_cosched_agrees, hold, hooks_of, story, whys
from tests.slurm.laboratory import laboratory
from tests.slurm.versions import config_of
from tests.tiers import soaked

NODES = 3
P, Q, R = (Work(name, 1, 0.1) for name in "pqr")
LONG = Work("p", 1, 600)
TOGETHER_OR_ASKED = {"asked by intrepid", "asked by eureka", *TOGETHER}  # why jobs of a pair start
running, coupled = laboratory(
    Served, serve=("hold", "hold"), options={"nodes": NODES, "cpus": 40}, services=False, **START
)


@pytest.mark.soak
def test_a_hold_outlives_slurmctld_and_a_job_waits_for_a_mate_whose_slurmctld_hangs(coupled: Served) -> None:
    here, there = coupled.here, coupled.there
    held, waiting = hold(coupled, here, P), coupled.submit(there, Q, "--hold")
    coupled.until_state(there, waiting, "queued")
    here.cluster.wait_until_saved(int(held))
    here.cluster.kill_controller()
    os.kill(there.cluster.pid(), signal.SIGSTOP)
    here.cluster.start_controller()
    coupled.until_state(here, held, "holding")
    second = hold(coupled, here, Q)
    assert known(here)[second].reason == "MateQueuing"
    os.kill(there.cluster.pid(), signal.SIGCONT)
    check_cosched_agrees(coupled)
    there.cluster.scontrol("release", waiting)
    coupled.check_started_together([held, second], [coupled.submit(there, P), waiting])


@pytest.mark.parametrize("way", soaked(["reconfigure", "restart", "restart of its unit"], 1))
def test_holds_outlive_a_slurmctld_that_is_restarted_in_order_or_reconfigured(coupled: Served, way: str) -> None:
    """Slurm 25.05.7, 25.11.4 and later kill the hooks then, and show jobs as running that they do not launch.

    All versions do where systemd ends all processes of the unit at once.
    """
    here, there = coupled.here, coupled.there
    held, other, waiting = hold(coupled, here, P), hold(coupled, here, Q), coupled.submit(there, Q, "--hold")
    if way == "restart":
        here.cluster.stop_controller()
        here.cluster.start_controller()
    elif way == "restart of its unit":
        here.cluster.stop_unit()
        here.cluster.start_controller()
    else:
        here.cluster.reconfigure()
    for job in (held, other):
        coupled.until(lambda job=job: here.cluster.state(int(job)) == "CONFIGURING", f"{job} to have its nodes again")
        coupled.until_state(here, job, "holding")
    coupled.until(lambda: len(hooks_of(here)) == 2, "two hooks that wait")
    there.cluster.scontrol("release", waiting)
    coupled.check_started_together([held, other], [coupled.submit(there, P), waiting])
    check_cosched_agrees(coupled)


def test_a_hold_whose_hook_is_killed_is_taken_up_again(coupled: Served) -> None:
    """By SIGKILL, as Slurm does it, which lets the job start then: with the packaged Slurm it does for a moment."""
    here, there = coupled.here, coupled.there
    held, mate = hold(coupled, here, LONG), coupled.submit(there, LONG, "--hold")
    (hook,) = hooks_of(here)
    script = look(hook)
    assert script is not None
    os.kill(script.parent, signal.SIGKILL)
    coupled.until_job(here, held, lambda job: job.holds.holds > 1 and job.state == "holding", "to hold again")
    check_cosched_agrees(coupled)
    assert not whys(here, held)
    there.cluster.scontrol("release", mate)
    for domain, job in ((here, held), (there, mate)):
        coupled.until_state(domain, job, "running")
    assert {*whys(here, held), *whys(there, mate)} <= TOGETHER_OR_ASKED


@pytest.mark.soak
def test_a_job_whose_node_dies_holds_another(coupled: Served) -> None:
    here, there = coupled.here, coupled.there
    held = hold(coupled, here, P)
    node = here.cluster.job(int(held))["NodeList"]
    here.cluster.kill_node(node)
    here.cluster.down_node(node)
    coupled.until(lambda: here.cluster.job(int(held))["NodeList"] not in (node, "(null)"), "another node")
    coupled.until_job(here, held, lambda job: job.holds.holds > 1 and job.state == "holding", "to hold again")
    assert "lost its nodes" in " ".join(event.text for event in story(here, held, kinds=["warning"]))
    check_cosched_agrees(coupled)
    coupled.until(lambda: len(hooks_of(here)) == 1, "the end of its first hook")
    here.cluster.resume_node(node)
    here.cluster.start_node(node)
    coupled.check_started_together([held], [coupled.submit(there, P)])


def test_the_mate_of_a_job_that_is_cancelled_while_it_holds_starts(coupled: Served) -> None:
    here, there = coupled.here, coupled.there
    held, other = hold(coupled, here, P), hold(coupled, here, Q)
    here.cluster.scancel(held)
    here.service.run("cancel", other)
    for job in (held, other):
        coupled.until_state(here, job, "cancelled")
    mates = [coupled.submit(there, work) for work in (P, Q)]
    outcome = coupled.outcome([held, other], mates)
    assert outcome.states == {"cancelled": 2, "completed": 2}
    assert {why for mate in mates for why in whys(there, mate)} == {"its mate will not run: cancelled"}


@pytest.mark.soak
def test_jobs_that_are_requeued_held_or_updated_while_they_hold_start_with_their_mates(coupled: Served) -> None:
    here, there = coupled.here, coupled.there
    held, requeued, requeued_held = (hold(coupled, here, work) for work in (P, Q, R))
    here.cluster.update(int(held), timelimit=7, nice=5, name="other", comment="cosched:pair=p but later")
    here.cluster.scontrol("hold", held)
    here.cluster.scontrol("requeue", requeued)
    here.cluster.scontrol("requeuehold", requeued_held)
    for domain in coupled.lab:
        domain.cluster.reconfigure()
    coupled.until_job(here, requeued, lambda job: job.holds.holds > 1 and job.state == "holding", "to hold again")
    coupled.until_state(here, requeued_held, "queued")
    if kills_hooks(config_of(here.cluster)):  # its nodes were taken, so that its user's hold counts
        coupled.until_state(here, held, "queued")
        here.cluster.scontrol("release", held)
    coupled.until_state(here, held, "holding")
    check_cosched_agrees(coupled)
    coupled.until(lambda: len(hooks_of(here)) == 2, "the end of the hooks of those that were requeued")
    mates = coupled.submit(there, P), coupled.submit(there, Q), hold(coupled, there, R)
    coupled.until_state(here, held, "completed")
    assert here.cluster.state(int(requeued_held)) == "PENDING"
    here.cluster.scontrol("release", requeued_held)
    coupled.check_started_together([held, requeued, requeued_held], mates)


def test_both_jobs_of_a_pair_that_are_requeued_while_they_run_start_together_again(coupled: Served) -> None:
    """Slurm keeps a job back for two minutes that it has requeued, unless somebody tells it to start earlier."""
    jobs = hold(coupled, coupled.here, LONG), coupled.submit(coupled.there, LONG)
    for domain, job in zip(coupled.lab, jobs, strict=True):
        coupled.until_state(domain, job, "running")
        domain.cluster.scontrol("requeue", job)
        coupled.until_state(domain, job, "queued")
    for domain, job in zip(coupled.lab, jobs, strict=True):
        coupled.until(lambda domain=domain, job=job: begins_now(domain, job), f"{job} to be ready again")
    starts = [start_again(coupled, domain, job) for domain, job in zip(coupled.lab, jobs, strict=True)]
    check_cosched_agrees(coupled)
    assert set(starts) <= TOGETHER_OR_ASKED


def begins_now(domain: Domain, job: str) -> bool:
    """Whether a job that was requeued has nodes again, or else is told to begin now."""
    if known(domain)[job].state != "queued":
        return True
    domain.cluster.try_run("scontrol", "update", f"jobid={job}", "starttime=now")
    return False


def start_again(coupled: Served, domain: Domain, job: str) -> str:
    """Why a job that ran before has started now."""
    return coupled.until(lambda: whys(domain, job)[1:], f"{job} to start again")[0]


@pytest.mark.soak
def test_a_hundred_jobs_hold_at_once_and_start_with_their_mates(coupled: Served) -> None:
    works = [Work(f"p{number}", 1, 0) for number in range(100)]
    ids = [[coupled.submit(coupled.here, work, "--no-requeue") for work in works]]  # such jobs need not mind the cap
    coupled.until(lambda: sum(job.state == "holding" for job in known(coupled.here).values()) == 100, "100 holds")
    check_cosched_agrees(coupled)
    ids += [[coupled.submit(coupled.there, work, "--no-requeue") for work in works]]
    coupled.check_started_together(*ids)


def test_what_users_write_in_comments_does_no_harm(coupled: Served) -> None:
    text = "$(touch harm) `touch harm`; touch harm & \"'\\ %n %s \t\n\n* ~ | \x01 \xe9"
    harm = [domain.cluster.directory.rglob("harm") for domain in coupled.lab]
    refused = "$(touch${IFS}harm)", "`touch${IFS}harm`;'\"\\%s"  # no names of pairs: such jobs start alone
    alone = [coupled.submit(coupled.here, Work(None, 1, 0), f"--comment=cosched:pair={name}") for name in refused]
    comments = [f"--comment={text} cosched:pair={name}\n{text}" for name in ("p", "q:/.,@")]
    ids = [[coupled.submit(domain, Work(None, 1, 0), comment) for comment in comments] for domain in coupled.lab]
    coupled.check_started_together(*ids)
    coupled.until(lambda: not set(alone) & set(coupled.here.cluster.squeue("-h", "-o", "%i").split()), "their ends")
    assert not [path for paths in harm for path in paths]
    with pytest.raises(LabError, match="comment"):
        coupled.submit(coupled.here, P, f"--comment=cosched:pair=p {text * 200}")
