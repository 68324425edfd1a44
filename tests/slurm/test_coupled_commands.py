"""Two real Slurm clusters, coscheduled: what users and operators ask for, of jobs of all kinds."""

import os

import pytest

from cosched_adapters.slurm.comments import ARRAY, HET
from deploy.slurm.lab import Domain
from tests.live.coupled import known
from tests.live.workloads import Work
from tests.slurm.coupled_checks import (
    START,
    Served,
    check_nothing_is_left,
    comment_of,
    hold,
    hooks_of,
    warnings,
    whys,
)
from tests.slurm.laboratory import laboratory

NODES = 5
P, Q, MINE, ALONE = (Work(name, 1, 0.1) for name in ("p", "q", "mine", None))
running, coupled = laboratory(
    Served, serve=("hold", "yield"), for_others=True, options={"nodes": NODES}, services=False, **START
)


def submit_later(coupled: Served, domain: Domain, comment: str = "cosched:adoptable") -> str:
    """A job without a mate that waits for a later time, and may be adopted."""
    return coupled.submit(domain, ALONE, "--begin=now+1hour", f"--comment={comment}")


def let_begin(domain: Domain, job: str) -> None:
    domain.cluster.scontrol("update", f"jobid={job}", "StartTime=now")


def test_heterogeneous_jobs_of_two_mates_and_arrays_of_one_start_alone_and_a_warning_says_so(coupled: Served) -> None:
    here = coupled.here
    array = coupled.submit(here, ALONE, "--array=1-2", "--comment=cosched:mate=eureka/999")
    het = ("--comment=cosched:pair=q", "-N1", ":", "-N1", "--comment=cosched:pair=r", "--wrap=true")
    jobs = array, here.cluster.run("sbatch", "--parsable", *het).strip()
    here.cluster.wait_for_no_jobs()
    texts = coupled.until(lambda: (found := warnings(here, *jobs))[1:] and found, "two warnings")
    assert {text.partition(": ")[2] for text in texts} == {ARRAY, HET}
    assert f"job {array} starts alone: {ARRAY}" in texts
    assert not known(here).keys() & {array}


def tasks_of(coupled: Served, domain: Domain, array: str, count: int) -> dict[int, str]:
    """The jobs that are an array's tasks, by their numbers, once cosched knows them all."""

    def parted() -> dict[int, str]:
        shown = domain.cluster.squeue("-h", "-r", "-t", "all", "-j", array, "-O", "ArrayTaskID:9,JobID:11").splitlines()
        tasks = {int(task): job for task, job in map(str.split, shown) if task.isdecimal()}
        return tasks if len({*tasks.values()}) == count and {*tasks.values()} <= known(domain).keys() else {}

    return dict(sorted(coupled.until(parted, "its tasks").items()))


@pytest.mark.parametrize("count", [4, pytest.param(100, marks=pytest.mark.soak)])
def test_the_tasks_of_two_arrays_are_pairs(coupled: Served, count: int) -> None:
    here, there = coupled.here, coupled.there
    arrays = [coupled.submit(domain, P, f"--array=0-{count - 1}%50") for domain in (here, there)]
    ours, theirs = (tasks_of(coupled, *of, count) for of in zip((here, there), arrays, strict=True))
    coupled.check_started_together([*ours.values()], [*theirs.values()])
    assert known(here)[ours[3]].mates[0].id == theirs[3]


@pytest.mark.soak  # tests/adapters/slurm has each case
@pytest.mark.parametrize("hooks", [1, 3, NODES])
def test_tasks_that_are_cancelled_while_slurm_calls_their_hooks_leave_no_hook_and_no_job(
    coupled: Served, hooks: int
) -> None:
    """Slurm kills no hook that it is about to call, and requeues a cancelled job whose hook has just failed."""
    here = coupled.here
    coupled.submit(here, P, "--array=0-99", "--ntasks=1")
    coupled.until(lambda: len(hooks_of(here)) >= hooks, "some hooks to be called")
    here.cluster.scancel("--quiet", "--partition=main")
    check_nothing_is_left(coupled)


def test_an_array_and_a_job_or_another_array_are_no_pair_and_both_sides_are_told(coupled: Served) -> None:
    """One job waits for the array's name, and one of two tasks for a task that the other array has not."""
    here, there = coupled.here, coupled.there
    mate = coupled.submit(here, P)
    coupled.until_state(here, mate, "holding")
    array = coupled.submit(there, Work("p", 1, 20.0), "--array=1")
    coupled.until_state(here, mate, "queued")
    assert known(here)[mate].mates[0].problem == "array"
    coupled.until(lambda: known(there)[array].mates[0].problem == "array", "the array to hear it")
    few, more = coupled.submit(here, Q, "--array=0-1"), coupled.submit(there, Q, "--array=1-2")
    ours, theirs = tasks_of(coupled, here, few, 2), tasks_of(coupled, there, more, 2)
    coupled.check_started_together([ours[1]], [theirs[1]])
    for domain, job in ((here, ours[0]), (there, theirs[2])):
        coupled.until(lambda d=domain, j=job: known(d)[j].mates[0].problem == "array", "both to hear it")
    for domain, jobs in ((here, (mate, few)), (there, (array, more))):
        domain.cluster.scancel(*jobs)


def test_a_job_without_a_comment_is_adopted_by_the_one_that_names_it(coupled: Served) -> None:
    here, there = coupled.here, coupled.there
    pairs = []
    for domain, peer in ((here, there), (there, here)):
        first = submit_later(coupled, domain, "flow 7 cosched:adoptable")
        second = coupled.submit(peer, ALONE, f"--comment=cosched:mate={domain.name}/{first}")
        coupled.until(lambda: "cosched:mate" in comment_of(domain, first), "the adoption")  # noqa: B023
        assert comment_of(domain, first) == f"flow 7 cosched:adoptable cosched:mate={peer.name}/{second}"
        let_begin(domain, first)
        pairs.append((first, second) if domain is here else (second, first))
    outcome = coupled.outcome(*zip(*pairs, strict=True))
    assert outcome.states == {"completed": 4}
    assert sorted(outcome.runs.values()) == [1] * 4
    for jobs in pairs:
        asked = [whys(domain, job)[0].startswith("asked by") for domain, job in zip(coupled.lab, jobs, strict=True)]
        assert any(asked), jobs


@pytest.mark.soak  # conformance and tests/live try each command
def test_jobs_are_linked_unlinked_released_and_cancelled(coupled: Served) -> None:
    here, there = coupled.here, coupled.there
    first, second = submit_later(coupled, here), submit_later(coupled, there)
    here.service.run("link", first, f"{there.name}:{second}")
    named = f"cosched:adoptable cosched:mate={here.name}/{first}"
    coupled.until(lambda: comment_of(there, second) == named, "both sides to be linked")
    for domain, job in ((here, first), (there, second)):
        domain.service.run("unlink", job)
        assert "cosched:" not in comment_of(domain, job)
    there.cluster.scontrol("update", f"jobid={second}", "comment=cosched:adoptable")
    third = submit_later(coupled, here, f"cosched:mate={there.name}/{second}")
    named = f"cosched:adoptable cosched:mate={here.name}/{third}"
    coupled.until(lambda: comment_of(there, second) == named, "another to adopt it")
    there.service.run("unlink", second)
    there.service.run("link", second, "--pair", "p")
    assert comment_of(there, second) == "cosched:pair=p"
    held = hold(coupled, here, P)
    here.service.run("release", held)
    coupled.until_job(here, held, lambda job: job.state == "holding" and job.holds.holds > 1, "to hold again")
    let_begin(there, second)
    coupled.check_started_together([held], [second])
    here.service.run("cancel", third)
    coupled.until(lambda: known(here)[third].state == "cancelled", "its end")
    here.service.run("cancel", third)  # again: it is answered as it is


def test_a_mate_gives_nodes_up_while_it_holds(coupled: Served) -> None:
    """Its user's `scontrol update` is no end of it: it starts with its mate, on the nodes that it still has."""
    here, there = coupled.here, coupled.there
    held = hold(coupled, here, Work("p", 3, 0.1))
    here.cluster.update(int(held), numnodes=1)
    here.cluster.wait_for(lambda: here.cluster.job(int(held))["NumNodes"] == "1", "two of its nodes to be free")
    coupled.check_started_together([held], [coupled.submit(there, P)])


def test_a_mate_gives_nodes_up_while_it_runs_and_cosched_says_so(coupled: Served) -> None:
    here, there = coupled.here, coupled.there
    first, second = coupled.submit(here, Work("p", 3, 600)), coupled.submit(there, P)
    coupled.until_state(here, first, "running")
    here.cluster.wait_for_state(int(first), "RUNNING")
    here.cluster.update(int(first), numnodes=2)
    coupled.until_job(here, first, lambda job: job.nodes == 2, "to have two nodes")
    assert "has 2 nodes now, as its resource manager says" in here.service.run("show", first)
    assert known(here)[first].state == "running"
    here.service.run("cancel", first)
    coupled.until_state(here, first, "cancelled")
    coupled.until_state(there, second, "completed")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can submit jobs as somebody else")
def test_jobs_of_two_owners_are_no_pair(coupled: Served) -> None:
    here, there = coupled.here, coupled.there
    held, namesake = hold(coupled, here, MINE), coupled.submit(there, MINE, "--uid=daemon", "--chdir=/tmp")
    coupled.until_job(there, namesake, lambda job: job.holds.yields > 0, "to wait for the job of its owner")
    assert known(here)[held].state == "holding"
    there.service.run("cancel", namesake)
    coupled.check_started_together([held], [coupled.submit(there, MINE)])
    own = submit_later(coupled, there)
    other = coupled.submit(here, ALONE, "--uid=daemon", "--chdir=/tmp", f"--comment=cosched:mate={there.name}/{own}")
    coupled.until_job(here, other, lambda job: job.reason == "MateUnknown", "to wait for a mate of its owner's")
    here.service.run("cancel", other)
    assert comment_of(there, own) == "cosched:adoptable"


def test_cosched_submit_passes_a_range_of_nodes_on(coupled: Served) -> None:
    there, script = coupled.there, coupled.there.cluster.jobs / "ranged.sh"
    script.write_text("#!/bin/sh\ntrue\n")
    job = there.service.run("submit", "--parsable", "--pair", "p", "--nodes", "2-4", str(script)).strip()
    coupled.until_job(there, job, lambda known: known.nodes == 4, "to be offered on 4 nodes")
    there.service.run("cancel", job)
    refused = there.service.try_run("submit", "--nodes", "2-4", "--best", "3", str(script))
    assert (refused.returncode, "asks for no best size" in refused.stderr) == (2, True)


def test_a_job_is_submitted_in_the_place_of_another_one_by_one_command(coupled: Served) -> None:
    """The last one here, since services wait for a successor from now on."""
    coupled.serve(("hold", "yield"), successor_patience=600, successor_hold=600)
    here, there = coupled.here, coupled.there
    mate, old = coupled.submit(here, P), coupled.submit(there, P, "--hold")
    coupled.until_job(here, mate, lambda job: (job.state, job.mates[0].id) == ("holding", old), "to know its mate")
    script = there.cluster.jobs / "other.sh"
    script.write_text("#!/bin/sh\n#COSCHED --pair=p\ntrue\n")
    new = there.service.run(
        "submit", "--parsable", "--chdir", str(script.parent), "--in-place-of", old, str(script)
    ).strip()
    coupled.outcome([mate], [new])
    assert (known(there)[old].state, known(here)[mate].mates[0].id) == ("cancelled", new)
