"""What cosched relies on in Slurm, shown on the real thing: PrologSlurmctld is the paper's RunJob."""

import os
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from cosched_adapters.slurm.versions import kills_hooks, restarts_on_reconfigure
from deploy.slurm.lab import Cluster, LabError
from tests.slurm.hooks import Held, Hooks, alive
from tests.slurm.versions import config_of
from tests.tiers import soaked

Hold = Callable[..., Held]
BATCH_STEP = ("step=batch", "step=-5")  # how the batch script's task prolog is told its step, up to 24.05 and in 26.05
IN_USE = ("alloc", "mix")  # sinfo's words for such a node; newer ones tell of one node without counting its CPUs
MANY_PATIENCE = 180  # seconds: a safety net, for a hundred jobs


def test_a_job_whose_prolog_waits_holds_its_nodes_and_starts_when_the_prolog_ends(cluster: Cluster, hold: Hold) -> None:
    job = hold("echo here", "--exclusive")
    assert job.fields["JobState"] == "CONFIGURING"
    assert cluster.sinfo("-h", "-n", job.fields["NodeList"], "-o", "%t").strip() in IN_USE
    job.say("go")
    job.wait_for_state("COMPLETED")
    assert job.output() == "here\n"


def test_the_prolog_has_the_job_in_its_environment_but_no_path(hold: Hold, hooks: Hooks) -> None:
    job = hold("true", "--comment=cosched:pair=a 'b' $c", "--nodes=2")
    environment = hooks.environment(job.id)
    assert environment["SLURM_SCRIPT_CONTEXT"] == "prolog_slurmctld"
    assert environment["SLURM_JOB_ID"] == str(job.id)
    assert environment["SLURM_CLUSTER_NAME"] == "intrepid"
    assert environment["SLURM_JOB_COMMENT"] == "cosched:pair=a 'b' $c"
    assert environment["SLURM_JOB_RESTART_COUNT"] == "0"
    assert environment["SLURM_JOB_NUM_NODES"] == "2"
    assert environment["SLURM_JOB_NODELIST"] == job.fields["NodeList"]
    assert not {"PATH", "HOME", "SLURM_CONF"} & set(environment)
    assert environment["uid"] == str(os.geteuid())  # SlurmUser, here who runs the laboratory


def test_a_prolog_that_fails_puts_the_job_back_into_the_queue_for_two_minutes(hold: Hold, hooks: Hooks) -> None:
    job = hold()
    priority = job.fields["Priority"]
    job.say("no")
    fields = job.wait_for_state("PENDING")
    assert (fields["Restarts"], fields["Priority"]) == ("1", priority)
    ahead = datetime.fromisoformat(fields["EligibleTime"]) - datetime.now()
    assert 100 < ahead.total_seconds() < 125
    job.wait_for(lambda: hooks.completions(job.id) == ["PENDING 0:0"], "the completion script")


def test_a_job_that_was_put_back_starts_when_its_start_time_is_moved(
    cluster: Cluster, hold: Hold, hooks: Hooks
) -> None:
    job = hold()
    job.say("no")
    job.wait_for_state("PENDING")
    cluster.update(job.id, starttime="now+1")
    job.wait_for_call(2)
    assert hooks.environment(job.id)["SLURM_JOB_RESTART_COUNT"] == "1"
    job.say("no")
    job.wait_for_state("PENDING")
    cluster.update(job.id, starttime="now")
    job.wait_for_call(3)


def test_a_prolog_that_fails_cancels_a_job_that_must_not_be_requeued(hold: Hold, hooks: Hooks) -> None:
    job = hold("true", "--no-requeue")
    job.say("no")
    job.wait_for_state("CANCELLED")
    job.wait_for(lambda: hooks.completions(job.id) == ["CANCELLED 0:0"], "the completion script")


def test_the_time_that_a_job_is_held_is_not_charged_to_its_limit(hold: Hold) -> None:
    job = hold("sleep 55", "--time=1")
    job.wait_for(lambda: job.fields["RunTime"] >= "00:00:02", "two seconds of hold")
    job.say("go")
    fields = job.wait_for_state("RUNNING")
    end, start = (datetime.fromisoformat(fields[key]) for key in ("EndTime", "StartTime"))
    assert (end - start).total_seconds() >= 60 + 2


def test_the_task_prolog_runs_as_the_user_before_the_first_instruction(hold: Hold, hooks: Hooks) -> None:
    user = ("--uid=65534", "--gid=65534", "--output=/dev/null") if os.geteuid() == 0 else ()
    job = hold(f"date +%s%N > {hooks.folder}/first", *user)
    (hooks.folder / "first").unlink(missing_ok=True)
    instant = time.time_ns() + 700_000_000
    job.say("at", str(instant))
    job.say("go")
    job.wait_for_state("COMPLETED")
    assert int((hooks.folder / "first").read_text()) >= instant
    uid = 65534 if user else os.geteuid()
    assert hooks.tasks(job.id) in {f"uid={uid} {step} context=prolog_task\n" for step in BATCH_STEP}


def test_the_task_prolog_runs_again_before_each_step(hold: Hold, hooks: Hooks) -> None:
    job = hold("srun true")
    job.say("go")
    job.wait_for_state("COMPLETED")
    batch, step = (line.split()[1] for line in hooks.tasks(job.id).splitlines())
    assert (batch in BATCH_STEP, step) == (True, "step=0")


def test_the_completion_script_is_called_for_every_end(cluster: Cluster, hold: Hold, hooks: Hooks) -> None:
    pending = cluster.sbatch("true", "--begin=now+100")
    cluster.scancel(pending)
    failing = hold("exit 3")
    failing.say("go")
    cluster.wait_for(
        lambda: hooks.completions(pending) == ["CANCELLED 0:0"], "the note of a pending job's cancellation"
    )
    failing.wait_for(lambda: hooks.completions(failing.id) == ["FAILED 3:0"], "the note of its failure")


def test_the_submission_script_answers_the_user(cluster: Cluster) -> None:
    with pytest.raises(LabError, match="this comment is refused"):
        cluster.sbatch("true", "--comment=refuse")


def test_a_comment_has_at_most_1024_bytes_and_may_forge_lines_of_squeue(cluster: Cluster) -> None:
    with pytest.raises(LabError, match="too long"):
        cluster.sbatch("true", "--hold", f"--comment={1025 * 'x'}")
    job = cluster.sbatch("true", "--hold", "--comment=a\n1|RUNNING|b")
    assert cluster.squeue("-h", "-j", str(job), "-o", "%i|%T|%k") == f"{job}|PENDING|a\n1|RUNNING|b\n"
    cluster.scancel(job)


def test_cancelling_a_held_job_kills_its_prolog(cluster: Cluster, hold: Hold, hooks: Hooks) -> None:
    job = hold()
    cluster.scancel(job.id)
    job.wait_for_state("CANCELLED")
    job.wait_for(lambda: not alive(hooks.calls(job.id)[0]), "the end of its prolog")
    job.wait_for(lambda: hooks.completions(job.id) == ["CANCELLED 0:0"], "the completion script")


def test_a_held_job_that_is_requeued_waits_for_the_end_of_its_prolog(
    cluster: Cluster, hold: Hold, hooks: Hooks
) -> None:
    job = hold()
    cluster.scontrol("requeue", str(job.id))
    job.wait_for_state("PENDING")
    cluster.update(job.id, starttime="now")
    job.wait_for(lambda: job.fields["Reason"] == "Cleaning", "Reason=Cleaning")
    assert alive(hooks.calls(job.id)[0])
    job.say("go")  # starts nothing any more
    job.wait_for_call(2)
    assert job.fields["JobState"] == "CONFIGURING"


def test_holding_a_job_that_is_held_already_counts_from_its_next_turn_on(cluster: Cluster, hold: Hold) -> None:
    job = hold()
    cluster.scontrol("hold", str(job.id))
    assert job.fields["JobState"] == "CONFIGURING"
    job.say("no")
    assert job.wait_for_state("PENDING")["Priority"] == "0"
    cluster.scontrol("release", str(job.id))
    cluster.update(job.id, starttime="now")
    job.wait_for_call(2)


def test_what_an_update_may_change_in_a_held_job(cluster: Cluster, hold: Hold) -> None:
    job = hold("true", "--time=9")
    cluster.update(job.id, timelimit=7, comment="other", nice=5)
    assert (job.fields["TimeLimit"], job.fields["Comment"], job.fields["Nice"]) == ("00:07:00", "other", "5")
    for refused in ({"starttime": "now+60"}, {"dependency": "singleton"}):
        with pytest.raises(LabError, match="no longer pending"):
            cluster.update(job.id, **refused)
    assert job.fields["JobState"] == "CONFIGURING"


def test_a_reconfiguration_leaves_held_jobs_alone_or_is_a_restart(cluster: Cluster, hold: Hold, hooks: Hooks) -> None:
    job, config = hold(), config_of(cluster)
    cluster.reconfigure()
    if kills_hooks(config):
        check_that_it_is_taken_for_started_and_recovered_by_a_requeue(job)
        return
    if restarts_on_reconfigure(config):
        job.wait_for_call(2)
    assert job.fields["JobState"] == "CONFIGURING"
    assert alive(hooks.calls(job.id)[-1])
    job.say("go")
    job.wait_for_state("COMPLETED")
    assert len(hooks.calls(job.id)) == 1 + restarts_on_reconfigure(config)


def check_that_it_is_taken_for_started_and_recovered_by_a_requeue(job: Held) -> None:
    job.wait_for(lambda: job.cluster.try_run("scontrol", "ping").stdout.strip().endswith("is UP"), "slurmctld")
    assert job.fields["JobState"] == "RUNNING"
    assert (len(job.hooks.calls(job.id)), alive(job.hooks.calls(job.id)[0])) == (1, False)
    assert not (job.cluster.jobs / f"slurm-{job.id}.out").exists()  # it was not launched
    job.cluster.scontrol("requeue", str(job.id))
    job.wait_for_state("PENDING")
    job.cluster.update(job.id, starttime="now")
    job.wait_for_call(2)
    job.say("go")
    job.wait_for_state("COMPLETED")


def test_a_held_job_whose_node_goes_down_is_requeued_once_its_prolog_has_ended(
    cluster: Cluster, hold: Hold, hooks: Hooks
) -> None:
    job = hold()
    node = job.fields["NodeList"]
    cluster.down_node(node)
    try:
        job.wait_for_state("PENDING")
        assert alive(hooks.calls(job.id)[0])
        job.say("go")
        cluster.update(job.id, starttime="now")
        job.wait_for_call(2)
        assert job.fields["NodeList"] != node
    finally:
        cluster.resume_node(node)


@pytest.mark.soak
def test_a_hundred_jobs_are_held_at_once(cluster: Cluster, hooks: Hooks) -> None:
    jobs = [cluster.sbatch("true") for _ in range(100)]
    cluster.wait_for(lambda: all(map(hooks.calls, jobs)), "a hundred prologs", MANY_PATIENCE)
    states = cluster.squeue("-h", "-o", "%i %T").split()
    assert states.count("CONFIGURING") == 100
    for job in jobs:
        hooks.say("go", job)
    cluster.wait_for(lambda: not cluster.squeue("-h"), "the end of them all", MANY_PATIENCE)
    assert all(len(hooks.calls(job)) == 1 for job in jobs)


@pytest.mark.parametrize("in_order", soaked([False, True], 1))
def test_a_restarted_controller_calls_the_prolog_of_a_held_job_again(tmp_path: Path, in_order: bool) -> None:
    """The old one is dead at once, so what it would have decided is lost, and no job starts by the restart.

    Newer Slurms count the end of a hook as leave to start, if they have ended it in order.
    """
    hooks = Hooks(tmp_path)
    with hooks.lab(nodes=1) as lab:
        cluster = lab["intrepid"]
        job = Held(cluster, hooks, "true")
        cluster.wait_until_saved(job.id)
        cluster.stop_controller() if in_order else cluster.kill_controller()
        job.wait_for(lambda: not alive(hooks.calls(job.id)[0]), "the end of its prolog")
        cluster.start_controller()
        if in_order and kills_hooks(config_of(cluster)):
            check_that_it_is_taken_for_started_and_recovered_by_a_requeue(job)
            return
        job.wait_for_call(2)
        assert job.fields["JobState"] == "CONFIGURING"
        job.say("go")
        job.wait_for_state("COMPLETED")
