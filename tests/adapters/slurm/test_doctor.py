"""What is said of a cluster's configuration, hook by hook and parameter by parameter."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from adapters.findings import Finding, Grade
from adapters.permissions import Account
from adapters.slurm.doctor import Facts, judge
from adapters.slurm.doctor.place import is_here
from adapters.slurm.settings import read_settings

HOOKS = Path(__file__).resolve().parents[3] / "deploy" / "slurm" / "hooks"
SCRIPTS = ("prolog", "task-prolog", "jobcomp")
ME = Account.of(os.geteuid())
PROGRAM = "#!/bin/sh\necho 'usage: cosched-hook prolog|gate|ended CONFIGURATION' >&2\nexit 2\n"
# As Slurm 22.05 shows it; what is not set is (null), or Slurm's default.
CONFIG = {
    "AccountingStorageType": "accounting_storage/none",
    "ClusterName": "intrepid",
    "CompleteWait": "0 sec",
    "JobCompType": "jobcomp/script",
    "JobRequeue": "1",
    "JobSubmitPlugins": "(null)",
    "MinJobAge": "300 sec",
    "PrEpPlugins": "prep/script",
    "PriorityType": "priority/basic",
    "Prolog": "(null)",
    "PrologEpilogTimeout": "65534",
    "PrologFlags": "(null)",
    "SchedulerParameters": "bf_interval=2,batch_sched_delay=1",
    "SlurmUser": f"{ME.name}({ME.uid})",
    "SlurmctldHost[0]": f"{socket.gethostname()}(127.0.0.1)",
    "SLURM_VERSION": "22.05.8",
    "TaskProlog": "(null)",
}


@pytest.fixture
def folder() -> Iterator[Path]:
    """The hooks as they are installed, where every user can reach them."""
    with tempfile.TemporaryDirectory(prefix="doctor-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        for script in SCRIPTS:
            shutil.copy(HOOKS / script, folder)
        (folder / "cosched-hook").write_text(PROGRAM)
        (folder / "cosched-hook").chmod(0o755)
        (folder / "cosched.conf").write_text(f"# ours\nsocket={folder}/hooks.sock\npatience=5\n")
        yield folder


Judge = Callable[..., list[Finding]]


@pytest.fixture
def judged(folder: Path) -> Judge:
    """What is found with these parameters (None: as if not set), by the cluster's subject."""

    def judged(config: dict[str, str] | None = None, /, *, elsewhere=None, serving=False, **settings) -> list[Finding]:
        hooks = {"PrologSlurmctld": f"{folder}/prolog", "JobCompLoc": f"{folder}/jobcomp"}
        known = read_settings(folder, {"hook_socket": "hooks.sock", **settings})
        shown = CONFIG | hooks | {"SLURM_CONF": f"{folder}/slurm.conf"} | (config or {})
        return judge(Facts(shown, known, ME, ME, serving, elsewhere))

    return judged


def wrong(findings: list[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.grade is not Grade.OK]


def only(findings: list[Finding]) -> Finding:
    """The one thing that is wrong."""
    found = wrong(findings)
    assert len(found) == 1, found
    assert found[0].change
    return found[0]


def of(subject: str, findings: list[Finding]) -> Finding:
    return next(finding for finding in findings if finding.subject == subject)


def test_nothing_is_wrong_where_all_is_as_it_should_be(judged):
    findings = judged()
    assert wrong(findings) == []
    assert all(not finding.change and not finding.lines for finding in findings)
    assert len({finding.subject for finding in findings}) == len(findings)
    assert "22.05.8 answers for the cluster intrepid" in of("slurmctld", findings).found


@pytest.mark.parametrize(
    ("config", "grade", "subject", "line"),
    [
        ({"JobRequeue": "0"}, "problem", "JobRequeue", "JobRequeue=1"),
        ({"PrologEpilogTimeout": "600"}, "problem", "PrologEpilogTimeout", "#PrologEpilogTimeout=600"),
        ({"PrologTimeout": "60 sec"}, "problem", "PrologTimeout", "#PrologTimeout=60"),
        ({"PrologSlurmctld": "(null)"}, "problem", "PrologSlurmctld", "PrologSlurmctld={}/prolog"),
        ({"PrologSlurmctld": "/nowhere/prolog"}, "problem", "PrologSlurmctld", "PrologSlurmctld={}/prolog"),
        ({"PrologSlurmctld": "/bin/sh"}, "problem", "PrologSlurmctld", "exec {}/prolog"),
        ({"JobCompType": "jobcomp/none"}, "warning", "JobCompType", "JobCompType=jobcomp/script JobCompLoc={}/jobcomp"),
        ({"JobCompLoc": "/bin/sh"}, "warning", "JobCompType", "JobCompType=jobcomp/script JobCompLoc={}/jobcomp"),
        ({"PrEpPlugins": "prep/ours"}, "problem", "PrEpPlugins", "PrEpPlugins=prep/ours,prep/script"),
        ({"MinJobAge": "10 sec"}, "warning", "MinJobAge", "MinJobAge=300"),
        ({"CompleteWait": "32 sec"}, "warning", "CompleteWait", "CompleteWait=0"),
        (
            {"SchedulerParameters": "bf_interval=1"},
            "warning",
            "batch_sched_delay",
            "SchedulerParameters=bf_interval=1,batch_sched_delay=1",
        ),
        (
            {"SchedulerParameters": "Batch_Sched_Delay=20,defer,bf_interval=1"},
            "warning",
            "batch_sched_delay",
            "SchedulerParameters=defer,bf_interval=1,batch_sched_delay=1",
        ),
        (
            {"SchedulerParameters": "bf_interval=1,batch_sched_delay=1,sched_min_interval=2000000"},
            "warning",
            "sched_min_interval",
            "SchedulerParameters=bf_interval=1,batch_sched_delay=1,sched_min_interval=1500000",
        ),
        (
            {"SchedulerParameters": "bf_interval=1,batch_sched_delay=0,sched_interval=-1"},
            "problem",
            "sched_interval",
            "SchedulerParameters=bf_interval=1,batch_sched_delay=0,sched_interval=60",
        ),
        (
            {"SchedulerParameters": "batch_sched_delay=1"},
            "warning",
            "bf_interval",
            "SchedulerParameters=batch_sched_delay=1,bf_interval=2",
        ),
        ({"SchedulerType": "sched/builtin"}, "warning", "SchedulerType", "SchedulerType=sched/backfill"),
        (
            {"PriorityType": "priority/multifactor", "PriorityWeightAge": "1000"},
            "warning",
            "PriorityType",
            "max_yields = 3",
        ),
        ({"SlurmctldHost[0]": "far.invalid(192.0.2.1)"}, "problem", "SlurmctldHost", "ssh 192.0.2.1"),
    ],
)
def test_what_is_wrong_is_said_with_the_line_that_mends_it(judged, folder, config, grade, subject, line):
    found = only(judged(config))
    assert (found.grade, found.subject) == (grade, subject)
    assert " ".join(found.lines) == line.format(folder)


def test_the_file_of_a_line_is_the_slurm_conf_in_use(judged, folder):
    assert only(judged({"JobRequeue": "0"})).file == f"{folder}/slurm.conf"


@pytest.mark.parametrize(
    "config",
    [
        {"PrologFlags": "Alloc,Contain"},
        {"PrologEpilogTimeout": "(null)"},
        {"PriorityType": "priority/multifactor", "PriorityWeightAge": "0"},
        {"MinJobAge": "0 sec"},
        {"SchedulerParameters": "batch_sched_delay=0,defer,bf_interval=1"},
        {"JobSubmitPlugins": "lua"},
        {"TaskProlog": "/bin/true"},
    ],
)
def test_what_does_no_harm_is_left_alone(judged, config):
    assert wrong(judged(config)) == []


def test_all_intervals_are_mended_by_one_line(judged):
    both = wrong(judged({"SchedulerParameters": "(null)"}))
    assert [finding.subject for finding in both] == ["batch_sched_delay", "bf_interval"]
    assert {finding.lines for finding in both} == {("SchedulerParameters=batch_sched_delay=1,bf_interval=2",)}


def test_a_backup_controller_finds_no_service(judged):
    found = only(judged({"SlurmctldHost[1]": "backup"}))
    assert (found.grade, found.subject) == ("warning", "SlurmctldHost")
    assert "backup" in found.found


def test_a_longer_patience_makes_slow_scheduling_right_and_peers_wait(judged):
    findings = judged({"SchedulerParameters": "bf_interval=4"}, try_patience=4)
    assert wrong(findings) == []
    assert "peers must wait 5 s" in of("try_patience", findings).found
    found = only(judged(try_patience=10))
    assert (found.subject, found.lines) == ("try_patience", ("peer_timeout = 11",))


def test_the_nodes_prolog_is_mentioned(judged):
    assert "Prolog /etc/p runs on the nodes after the hold" in of("PrologFlags", judged({"Prolog": "/etc/p"})).found


def test_only_slurm_user_and_root_may_serve(folder):
    known = read_settings(folder, {})
    nobody = Account(65534, "nobody", frozenset())
    slurm = Account(64030, "slurm", frozenset())
    found = of("SlurmUser", judge(Facts(CONFIG, known, nobody, slurm)))
    assert (found.grade, found.lines) == ("problem", ("User=slurm",))
    assert of("SlurmUser", judge(Facts(CONFIG, known, Account.of(0), slurm))).grade is Grade.OK


@pytest.mark.parametrize(("host", "here"), [("127.0.0.1", True), (socket.gethostname(), True), ("192.0.2.1", False)])
def test_an_address_is_of_this_host_if_a_socket_can_have_it(host, here):
    assert is_here(host) is here


# The hooks


def test_a_prolog_that_was_there_before_may_call_ours(judged, folder):
    site = folder / "site-prolog"
    site.write_text(f"#!/bin/sh\n/usr/bin/logger hello\nexec {folder}/prolog\n")
    site.chmod(0o755)
    findings = judged({"PrologSlurmctld": str(site)})
    assert wrong(findings) == []
    assert of("PrologSlurmctld", findings).found == f"{site}, which calls {folder}/prolog"


def test_another_hook_in_the_place_of_the_prolog_is_none(judged, folder):
    found = only(judged({"PrologSlurmctld": f"{folder}/jobcomp"}))
    assert "jobcomp is not cosched's prolog" in found.found


def test_a_version_with_several_prologs_shows_them_with_numbers(judged, folder):
    config = {"PrologSlurmctld": "(null)", "PrologSlurmctld[0]": "/bin/true"}
    assert only(judged(config)).subject == "PrologSlurmctld"
    assert wrong(judged(config | {"PrologSlurmctld[1]": f"{folder}/prolog"})) == []


@pytest.mark.parametrize(
    ("change", "subject", "line"),
    [
        (lambda folder: (folder / "prolog").chmod(0o644), "PrologSlurmctld", "chmod 755 {}/prolog"),
        (lambda folder: (folder / "cosched-hook").unlink(), "cosched-hook", "cc -std=c11"),
        (lambda folder: (folder / "cosched-hook").chmod(0o644), "cosched-hook", "chmod 755 {}/cosched-hook"),
        (lambda folder: (folder / "cosched-hook").write_bytes(b"\x7fELF"), "cosched-hook", "cc -std=c11"),
        (lambda folder: (folder / "cosched.conf").unlink(), "cosched.conf", "socket={}/hooks.sock"),
        (lambda folder: (folder / "cosched.conf").write_text(""), "cosched.conf", "socket={}/hooks.sock"),
        (lambda folder: (folder / "cosched.conf").write_text("socket=/other"), "cosched.conf", "socket={}/hooks.sock"),
        (
            lambda folder: (folder / "cosched.conf").write_text(f"socket={folder}/hooks.sock\npatience=1m"),
            "cosched.conf",
            "patience=10",
        ),
    ],
)
def test_what_is_missing_beside_the_hooks_is_found(judged, folder, change, subject, line):
    change(folder)
    found = only(judged())
    assert found.subject == subject
    assert " ".join(found.lines).startswith(line.format(folder))


@pytest.mark.parametrize("name", ["prolog", "cosched-hook", "cosched.conf", "."])
def test_hooks_that_others_can_change_are_found_and_not_run(judged, folder, name):
    ran = folder / "ran"
    (folder / "cosched-hook").write_text(f"#!/bin/sh\ntouch {ran}\n")
    (folder / name).chmod(0o777)
    owners, program = wrong(judged())
    assert (owners.grade, owners.subject) == ("problem", "owners")
    assert str((folder / name).resolve()) in owners.found
    assert (program.grade, program.subject) == ("warning", "cosched-hook")
    assert not ran.exists()


def test_the_socket_needs_its_folder(judged, folder):
    (folder / "cosched.conf").write_text(f"socket={folder}/run/hooks.sock\n")
    found = only(judged(hook_socket="run/hooks.sock"))
    assert found.subject == "hook_socket"
    assert found.lines == (f"install -d -o {ME.name} -m 755 {folder}/run",)


def test_a_service_that_runs_must_listen_to_the_hooks(judged, folder):
    assert only(judged(serving=True)).subject == "hook_socket"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "hooks.sock"))
        listening.listen()
        assert wrong(judged(serving=True)) == []


# The gate


def test_gate_and_gate_lead_belong_together(judged, folder):
    gate = {"TaskProlog": f"{folder}/task-prolog"}
    assert "optional" in of("TaskProlog", judged()).found
    assert wrong(judged(gate, gate_lead=0.3)) == []
    assert only(judged(gate)).lines == ("gate_lead = 0.3",)
    found = only(judged(gate_lead=0.3))
    assert (found.subject, found.lines) == ("gate_lead", (f"TaskProlog={folder}/task-prolog",))


def test_a_gate_on_other_hosts_lets_jobs_start_too_early(judged, folder):
    found = only(judged({"TaskProlog": f"{folder}/task-prolog"}, gate_lead=0.3, elsewhere="node17"))
    assert "node17" in found.found
    assert "0.3 s before the agreed instant" in found.found
    assert found.lines == (f"#TaskProlog={folder}/task-prolog",)
    assert "name a folder that all nodes see (gate_folder, and gates= in cosched.conf)" in found.change


@pytest.fixture
def by_folder(judged, folder):
    """What is found on a cluster with other hosts, whose gates look into the folder `gates`."""
    (folder / "gates").mkdir(mode=0o755)
    conf = folder / "cosched.conf"
    conf.write_text(f"{conf.read_text()}gates={folder}/gates\n")

    def by_folder(**settings: object) -> list[Finding]:
        usual = {"gate_lead": 0.3, "gate_folder": str(folder / "gates"), "elsewhere": "node17"}
        given = {key: value for key, value in (usual | settings).items() if value is not None}
        return judged({"TaskProlog": f"{folder}/task-prolog"}, **given)

    return by_folder


def test_with_a_folder_that_all_nodes_see_tasks_may_be_on_other_hosts(by_folder):
    findings = by_folder()
    assert wrong(findings) == []
    assert "NTP or chrony" in of("gate_folder", findings).found
    assert only(by_folder(gate_lead=0)).lines == ("gate_lead = 0.3",)


@pytest.mark.parametrize(
    ("change", "grade", "line"),
    [
        (lambda gates: gates.rmdir(), "problem", f"install -d -o {ME.name} -m 755 {{}}/gates"),
        (lambda gates: gates.chmod(0o775), "problem", f"chown {ME.name} {{0}}/gates chmod go-w {{0}}/gates"),
        (lambda gates: gates.chmod(0o700), "warning", "chmod a+x {}/gates"),
    ],
)
def test_only_the_service_writes_into_the_folder_and_everybody_may_look(by_folder, folder, change, grade, line):
    change(folder / "gates")
    found = only(by_folder())
    assert (found.grade, found.subject, " ".join(found.lines)) == (grade, "gate_folder", line.format(folder))


def test_the_services_user_writes_into_the_folder(folder):
    known = read_settings(folder, {"gate_folder": str(folder), "gate_lead": 0.3})
    config = CONFIG | {"TaskProlog": f"{folder}/task-prolog"}
    other = Account(64030, "slurm", frozenset())
    found = of("gate_folder", judge(Facts(config, known, other, other)))
    assert (found.grade, found.lines) == ("problem", (f"chown slurm {folder}",))


def test_service_and_gates_have_the_same_folder(by_folder, folder):
    (folder / "other").mkdir()
    found = only(by_folder(gate_folder=str(folder / "other")))
    assert (found.file, found.lines) == (str(folder / "cosched.conf"), (f"gates={folder}/other",))
    assert f"into {folder}/gates" in found.found
    (folder / "cosched.conf").write_text(f"socket={folder}/hooks.sock\n")
    assert only(by_folder()).lines == (f"gates={folder}/gates",)


def test_a_folder_that_only_the_gates_know_is_of_no_use(by_folder, folder):
    found = only(by_folder(gate_folder=None))
    assert (found.subject, found.lines) == ("gate_folder", (f'gate_folder = "{folder}/gates"',))


def test_a_folder_without_a_gate_is_of_no_use(judged, folder):
    found = only(judged(gate_folder=str(folder)))
    assert (found.subject, found.lines) == ("gate_folder", (f"TaskProlog={folder}/task-prolog",))


@pytest.mark.parametrize(
    ("name", "mode", "line"),
    [
        ("task-prolog", 0o700, "chmod 755 {}/task-prolog"),
        ("cosched-hook", 0o750, "chmod 755 {}/cosched-hook"),
        ("cosched.conf", 0o600, "chmod 644 {}/cosched.conf"),
        (".", 0o700, "chmod a+x {}"),
    ],
)
def test_the_gate_is_run_by_users(judged, folder, name, mode, line):
    (folder / name).chmod(mode)
    found = only(judged({"TaskProlog": f"{folder}/task-prolog"}, gate_lead=0.3))
    assert (found.grade, found.subject) == ("warning", "TaskProlog")
    assert found.lines == (line.format(folder),)


def test_the_script_that_checks_submissions_lies_beside_slurm_conf(judged, folder):
    assert "optional" in of("JobSubmitPlugins", judged({"JobSubmitPlugins": "lua"})).found
    shutil.copy(HOOKS / "job_submit.lua", folder)
    assert "tells users at sbatch" in of("JobSubmitPlugins", judged({"JobSubmitPlugins": "lua"})).found


@pytest.mark.parametrize(("later", "told"), [(-10, False), (1, False), (60, True)])
def test_a_slurm_conf_that_was_changed_after_the_start_may_not_count_yet(folder, judged, later, told):
    (folder / "slurm.conf").touch()
    os.utime(folder / "slurm.conf", (1_800_000_000 + later,) * 2)
    found = [finding for finding in judged({"BOOT_TIME": "1800000000"}) if finding.subject == "slurm.conf"]
    assert [finding.lines for finding in found] == [("systemctl restart slurmctld",)] * told
