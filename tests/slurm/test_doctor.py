"""`cosched doctor` of a real cluster: all as it should be, then one line of slurm.conf after the other made wrong."""

import asyncio
import json
import os
import pwd
import re
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cosched_adapters.findings import Finding, Grade
from cosched_adapters.permissions import Account
from cosched_adapters.slurm import reservations
from cosched_adapters.slurm.doctor import examine
from cosched_adapters.slurm.reservations import new_name, put_in
from cosched_adapters.slurm.settings import read_settings
from deploy.slurm.lab import Cluster, clear
from tests.slurm.cosched_hooks import Site, site

USER = pwd.getpwuid(os.geteuid()).pw_name
CONFIGURATION = """
[domain]
name = "intrepid"
listen = "127.0.0.1:1"
plaintext = true
state = "state.db"

[coscheduling]
peer_timeout = 5

[manager]
kind = "slurm"
conf = {conf}
hook_socket = {socket}
waiting_folder = {waiting}
command_timeout = 30
gate_lead = 0.3
"""


@pytest.fixture(scope="module")
def lab() -> Iterator[tuple[Cluster, Site]]:
    """A cluster with all of cosched's hooks."""
    with site() as hooks, hooks.lab(nodes=1) as lab:
        yield lab["intrepid"], hooks


@pytest.fixture
def found(lab: tuple[Cluster, Site]):
    """Examines the cluster with these lines in slurm.conf instead of its own; afterwards all is as before."""
    cluster, hooks = lab
    before = cluster.conf.read_text()

    def found(
        *,
        serving: bool = False,
        slots: Callable[[], dict[str, int] | None] = dict,
        settings: dict[str, object] | None = None,
        **lines: object,
    ) -> list[Finding]:
        if lines:
            cluster.configure(**lines)
            cluster.reconfigure()
        usual = {"conf": str(cluster.conf), "hook_socket": str(hooks.socket), "gate_lead": 0.3, "command_timeout": 30}
        usual["waiting_folder"] = str(hooks.waiting)
        known = read_settings(cluster.directory, usual | (settings or {}))
        return asyncio.run(examine(known, Account.of(os.geteuid()), serving=serving, slots=slots))

    yield found
    if cluster.conf.read_text() != before:
        cluster.rewrite(before)
        cluster.reconfigure()


# Warnings of newer versions, whatever their configuration, and of older ones that the test has reconfigured.
AS_THEY_ARE = ("restarts", "reconfigured")


def wrong(findings: list[Finding]) -> list[Finding]:
    """What is wrong with the configuration."""
    return [finding for finding in findings if finding.grade is not Grade.OK and finding.subject not in AS_THEY_ARE]


def test_nothing_is_wrong_with_a_cluster_that_is_set_up_as_documented(lab, found):
    _, hooks = lab
    assert wrong(found()) == []
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(hooks.socket))
        listening.listen()
        findings = found(serving=True)
    assert wrong(findings) == []
    subjects = {finding.subject for finding in findings}
    assert {"PrologSlurmctld", "JobCompLoc", "TaskProlog", "cosched-hook", "cosched.conf", "hook_socket"} <= subjects


@pytest.mark.parametrize(
    ("subject", "line", "lines"),
    [
        ("JobRequeue", "JobRequeue=1", {"JobRequeue": 0}),
        ("PrologEpilogTimeout", "#PrologEpilogTimeout=600", {"PrologEpilogTimeout": 600}),
        ("PrologSlurmctld", "PrologSlurmctld={}/prolog", {"PrologSlurmctld": None}),
        ("JobCompType", "JobCompType=jobcomp/script", {"JobCompType": "jobcomp/none"}),
        ("TaskProlog", None, {"TaskProlog": None}),
        ("MinJobAge", "MinJobAge=300", {"MinJobAge": 10}),
        ("CompleteWait", "CompleteWait=0", {"CompleteWait": 32}),
        (
            "bf_interval",
            "SchedulerParameters=batch_sched_delay=0,bf_interval=2",
            {"SchedulerParameters": "batch_sched_delay=0"},
        ),
        (
            "batch_sched_delay",
            "SchedulerParameters=bf_interval=1,batch_sched_delay=1",
            {"SchedulerParameters": "bf_interval=1,batch_sched_delay=5"},
        ),
        ("PriorityType", "max_yields = 3", {"PriorityType": "priority/multifactor", "PriorityWeightAge": 10}),
    ],
    ids=lambda value: "-".join(f"{key}={text}" for key, text in value.items()) if isinstance(value, dict) else "",
)
def test_a_line_that_is_wrong_is_found_and_the_right_one_said(lab, found, subject, line, lines):
    findings = wrong(found(settings={} if line else {"gate_lead": 0}, **lines))
    if line is None:  # optional
        assert findings == []
        return
    assert [finding.subject for finding in findings] == [subject]
    assert findings[0].lines[0] == line.format(lab[1].folder)


def test_a_slurm_conf_is_not_taken_for_unread_once_slurmctld_has_read_it_however_long_after_its_start(lab, found):
    cluster, _ = lab
    os.utime(cluster.conf, (time.time() + 3600,) * 2)  # as on a busy machine, where hours pass
    assert wrong(found()) == []
    cluster.configure(MinJobAge=400)
    assert [finding.subject for finding in wrong(found())] == ["slurm.conf"]
    cluster.reconfigure()
    assert wrong(found()) == []


def test_the_line_that_is_said_mends_what_is_wrong(found):
    """Each line is put into slurm.conf as it is."""
    findings = wrong(found(JobRequeue=0, SchedulerParameters="defer", MinJobAge=5))
    lines = [line for finding in findings for line in finding.lines]
    assert len(lines) == 4
    assert wrong(found(**dict(line.split("=", 1) for line in lines))) == []


@pytest.fixture
def reserved(lab: tuple[Cluster, Site]) -> Iterator[Callable[..., str]]:
    """Reserves the node for a minute, from an instant on; afterwards no job and no reservation is left."""
    cluster, _ = lab

    def reserved(name: str, start: int) -> str:
        cluster.run(*reservations.create(name, USER, cluster.nodes, start, start + 60))
        return name

    yield reserved
    clear(cluster)
    for name in names_of(cluster):
        cluster.run(*reservations.delete(name))


def names_of(cluster: Cluster) -> set[str]:
    """All reservations."""
    return set(re.findall(r"^ReservationName=(\S+)", cluster.scontrol("show", "reservations", "-o"), re.MULTILINE))


def test_while_the_service_does_not_answer_no_reservation_is_called_left_over(found, reserved):
    reserved(new_name("1", 1), int(time.time()) + 1000)
    assert wrong(found(slots=lambda: None)) == []


def test_a_reservation_for_no_slot_is_found_and_what_is_said_removes_it_and_no_other(lab, found, reserved):
    cluster, _ = lab
    stuck, kept = (str(cluster.sbatch("true", "--begin=now+1hour")) for _ in range(2))
    slot = int(time.time()) + 1000
    ours = [reserved(new_name(stuck, 1), slot), reserved(new_name(stuck, 2), slot + 100)]
    others = [reserved("maintenance", slot + 200), reserved(new_name(kept, 1), slot + 300)]
    for job, name in ((stuck, ours[0]), (kept, others[1])):
        cluster.run(*put_in(job, name))
    (finding,) = wrong(found(slots=lambda: {kept: slot + 300}))
    assert (finding.grade, finding.subject) == ("problem", "reservations")
    assert "2 of cosched's" in finding.found
    assert f"stuck there: {stuck}" in finding.found
    for line in finding.lines:
        cluster.run(*line.split())
    assert wrong(found(slots=lambda: {kept: slot + 300})) == []
    assert names_of(cluster) == set(others)
    assert cluster.job(int(stuck)).get("Reservation") is None
    assert cluster.job(int(kept))["Reservation"] == others[1]


def test_a_cluster_that_does_not_answer_is_one_problem(lab, found, tmp_path):
    cluster, _ = lab
    text = cluster.conf.read_text()
    silent = tmp_path / "slurm.conf"
    silent.write_text(
        "\n".join("SlurmctldPort=1" if line.startswith("SlurmctldPort=") else line for line in text.split("\n"))
    )
    findings = wrong(found(settings={"conf": str(silent), "command_timeout": 0.5}))
    assert [(finding.grade, finding.subject) for finding in findings] == [("problem", "slurmctld")]
    missing = wrong(found(settings={"bin": str(_commands(tmp_path))}))
    assert [finding.subject for finding in missing] == ["commands", "slurmctld"]


def _commands(folder: Path) -> Path:
    """A folder with squeue alone."""
    squeue = folder / "squeue"
    squeue.write_text("#!/bin/sh\n")
    squeue.chmod(0o755)
    return folder


def test_the_command_shows_it_all_and_says_by_its_exit_code_whether_there_are_problems(lab, found, cosched, tmp_path):
    cluster, hooks = lab
    conf, path = json.dumps(str(cluster.conf)), json.dumps(str(hooks.socket))
    (tmp_path / "domain.toml").write_text(
        CONFIGURATION.format(conf=conf, socket=path, waiting=json.dumps(str(hooks.waiting)))
    )
    shown = cosched("doctor", "--config", "domain.toml", exit_code=1).stdout  # plaintext is a warning
    assert "Slurm 22." in shown or "answers for the cluster intrepid" in shown
    assert "problem" not in shown
    found(JobRequeue=0)
    said = json.loads(cosched("doctor", "--config", "domain.toml", "--json", exit_code=2).stdout)
    assert said["problems"] == 1
    (problem,) = [finding for finding in said["findings"] if finding["grade"] == "problem"]
    assert (problem["group"], problem["lines"], problem["file"]) == ("slurm", ["JobRequeue=1"], str(cluster.conf))
