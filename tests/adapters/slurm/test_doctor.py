"""What is said of a cluster's configuration, hook by hook and parameter by parameter."""

import errno
import os
import pwd
import shutil
import socket
import tempfile
from functools import partial
from pathlib import Path

import pytest

from cosched_adapters.findings import Grade
from cosched_adapters.permissions import Account
from cosched_adapters.slurm.controllers import is_here
from cosched_adapters.slurm.doctor import Facts, judge
from cosched_adapters.slurm.settings import read_settings
from tests.adapters.slurm.examined import CONFIG, HOOKS, ME, PROGRAM, folder, judged, of, only, waiting, wrong
from tests.live.other_users import acting_as, needs_root

__all__ = ["folder", "judged"]
QUICK = "bf_interval=1,batch_sched_delay=1"
BY_AGE = {"PriorityType": "priority/multifactor"}
OLD_PROGRAMS = [PROGRAM.replace(word, "") for word in ("|starting", " waiting")]


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
        ({"SchedulerType": "sched/builtin"}, "warning", "SchedulerType", "SchedulerType=sched/backfill"),
        (BY_AGE | {"PriorityWeightAge": "1000"}, "warning", "PriorityType", "max_yields = 3"),
        ({"SlurmctldHost[0]": "far.invalid(192.0.2.1)"}, "problem", "SlurmctldHost", "ssh 192.0.2.1"),
    ],
)
def test_what_is_wrong_is_said_with_the_line_that_mends_it(judged, folder, config, grade, subject, line):
    found = only(judged(config))
    assert (found.grade, found.subject) == (grade, subject)
    assert " ".join(found.lines) == line.format(folder)


@pytest.mark.parametrize(
    ("options", "subject", "mended"),
    [
        ("bf_interval=1", "batch_sched_delay", "bf_interval=1,batch_sched_delay=1"),
        ("Batch_Sched_Delay=20,defer,bf_interval=1", "batch_sched_delay", "defer,bf_interval=1,batch_sched_delay=1"),
        (f"{QUICK},sched_min_interval=2000000", "sched_min_interval", f"{QUICK},sched_min_interval=1500000"),
        (f"{QUICK},sched_interval=-1", "sched_interval", f"{QUICK},sched_interval=60"),
        ("batch_sched_delay=1", "bf_interval", "batch_sched_delay=1,bf_interval=2"),
    ],
)
def test_what_makes_tries_fail_is_said_with_all_options_of_the_scheduler(judged, options, subject, mended):
    found = only(judged({"SchedulerParameters": options}))
    assert (found.grade, found.subject) == ("problem" if subject == "sched_interval" else "warning", subject)
    assert found.lines == (f"SchedulerParameters={mended}",)


def test_the_file_of_a_line_is_the_slurm_conf_in_use(judged, folder):
    assert only(judged({"JobRequeue": "0"})).file == f"{folder}/slurm.conf"


@pytest.mark.parametrize(
    "config",
    [
        {"PrologFlags": "Alloc,Contain"},
        {"PrologEpilogTimeout": "(null)"},
        BY_AGE | {"PriorityWeightAge": "0"},
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


def test_the_service_stands_by_on_the_host_of_a_backup_controller(judged):
    here = CONFIG["SlurmctldHost[0]"]
    for hosts in ((here, "backup"), ("far.invalid(192.0.2.1)", here)):
        found = judged({f"SlurmctldHost[{number}]": host for number, host in enumerate(hosts)})
        assert wrong(found) == []
        assert "stands by where slurmctld does" in of("SlurmctldHost", found).found


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


def configure(folder: Path, socket: str, more: str = "") -> None:
    (folder / "cosched.conf").write_text(f"socket={socket}\n{waiting(folder)}{more}")


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
        (lambda folder: (folder / "cosched-hook").write_text(OLD_PROGRAMS[0]), "cosched-hook", "cc -std=c11"),
        (lambda folder: (folder / "cosched-hook").write_text(OLD_PROGRAMS[1]), "cosched-hook", "cc -std=c11"),
        (lambda folder: configure(folder, "/other"), "cosched.conf", "socket={}/hooks.sock"),
        (lambda folder: configure(folder, f"{folder}/hooks.sock", "patience=1m"), "cosched.conf", "patience=10"),
    ],
)
def test_what_is_missing_beside_the_hooks_is_found(judged, folder, change, subject, line):
    change(folder)
    found = only(judged())
    assert found.subject == subject
    assert " ".join(found.lines).startswith(line.format(folder))


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("#!/bin/nosuch\n", "does not run on this host: No such file or directory"),
        ("#!/bin/sh\necho 'Usage: other' >&2\n", "does not tell its usage as cosched-hook does: it says 'Usage: oth"),
        ("#!/bin/sh\n", "does not tell its usage as cosched-hook does: it says nothing"),
    ],
)
def test_a_program_that_cannot_run_is_told_from_one_that_is_not_the_hook(judged, folder, program, said):
    (folder / "cosched-hook").write_text(program)
    found = only(judged())
    assert (found.grade, found.subject) == ("problem", "cosched-hook")
    assert said in found.found


@needs_root
@pytest.mark.parametrize("caller", ["root", "daemon"])
def test_a_folder_of_hooks_that_is_closed_to_slurm_is_a_problem_and_all_else_is_checked(judged, folder, caller):
    usual = judged()
    slurm = Account.of(pwd.getpwnam("daemon").pw_uid)
    folder.chmod(0o700)
    with acting_as(caller):
        found = judged(slurm_user=slurm)
    (prolog,) = [finding for finding in found if finding.subject == "PrologSlurmctld"]
    assert prolog.found == f"daemon cannot run {folder}/prolog"
    assert prolog.lines == (f"chmod a+x {folder}",)
    assert [finding.subject for finding in found][-10:] == [finding.subject for finding in usual][-10:]


def test_what_a_check_cannot_look_at_is_a_finding_and_the_next_one_goes_on(judged, monkeypatch):
    def barred(*_args):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), "/etc/slurm/prolog")

    monkeypatch.setattr("cosched_adapters.slurm.doctor.installed.check_prolog", barred)
    found = only(judged())
    assert (found.grade, found.subject) == ("problem", "PrologSlurmctld")
    assert found.found.startswith("cannot be checked: /etc/slurm/prolog: Permission denied: ")
    assert "as the service's user" in found.change


@pytest.mark.parametrize("change", [Path.unlink, partial(Path.write_text, data="")])
def test_hooks_that_are_told_nothing_find_neither_service_nor_folder(judged, folder, change):
    change(folder / "cosched.conf")
    conf, waits = wrong(judged())
    assert (conf.subject, conf.lines) == ("cosched.conf", (f"socket={folder}/hooks.sock",))
    assert (waits.subject, waits.lines) == ("waiting_folder", (f"waiting={folder}/waiting",))


@pytest.mark.parametrize(
    ("change", "settings", "line"),
    [
        (lambda _: None, {"waiting_folder": None}, 'waiting_folder = "{}/waiting"'),
        (lambda _: None, {"waiting_folder": "others"}, "waiting={}/others"),
        (Path.rmdir, {}, f"install -d -o {ME.name} -m 755 {{}}/waiting"),
        (lambda path: path.chmod(0o777), {}, f"chown {ME.name} {{}}/waiting"),
    ],
)
def test_the_folder_of_the_hooks_notes_must_be_named_twice_and_be_slurmusers(judged, folder, change, settings, line):
    change(folder / "waiting")
    found = only(judged(**settings))
    assert found.subject == "waiting_folder"
    assert found.lines[0] == line.format(folder)


def test_a_folder_of_notes_that_a_boot_empties_is_found(judged, folder):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as volatile:
        (folder / "cosched.conf").write_text(f"socket={folder}/hooks.sock\nwaiting={volatile}\n")
        assert "emptied when the host boots" in only(judged(waiting_folder=volatile)).found


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
    configure(folder, f"{folder}/run/hooks.sock")
    found = only(judged(hook_socket="run/hooks.sock"))
    assert found.subject == "hook_socket"
    assert found.lines == (f"install -d -o {ME.name} -m 755 {folder}/run",)


def test_a_service_that_runs_must_listen_to_the_hooks(judged, folder):
    assert only(judged(serving=True)).subject == "hook_socket"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "hooks.sock"))
        listening.listen()
        assert wrong(judged(serving=True)) == []


def test_the_script_that_checks_submissions_lies_beside_slurm_conf(judged, folder):
    assert "optional" in of("JobSubmitPlugins", judged({"JobSubmitPlugins": "lua"})).found
    shutil.copy(HOOKS / "job_submit.lua", folder)
    assert "tells users at sbatch" in of("JobSubmitPlugins", judged({"JobSubmitPlugins": "lua"})).found


@pytest.mark.parametrize(("later", "told"), [(-10, False), (0.99, False), (60, True)])
def test_hooks_may_be_shown_but_not_called_if_slurm_conf_was_read_again_after_the_start(folder, judged, later, told):
    (folder / "slurm.conf").touch()
    os.utime(folder / "slurm.conf", (1_800_000_000 + later,) * 2)
    config = {"BOOT_TIME": "1800000000", "HASH_VAL": "Match"}
    found = [(finding.grade, finding.subject, finding.lines) for finding in wrong(judged(config))]
    assert found == [("warning", "reconfigured", ("systemctl restart slurmctld",))] * told
    assert wrong(judged(config | {"SLURM_VERSION": "24.05.8"})) == []


@pytest.mark.parametrize(
    ("version", "line"), [("22.05.8", "systemctl restart slurmctld"), ("24.05.8", "scontrol reconfigure")]
)
def test_a_slurm_conf_that_slurmctld_has_not_read_does_not_count(judged, version, line):
    found = only(judged({"SLURM_VERSION": version, "HASH_VAL": "Different Ours=0x2299e1b9 Slurmctld=0xc0e85de8"}))
    assert (found.grade, found.subject, found.lines) == ("warning", "slurm.conf", (line,))


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("22.05.8", "scontrol reconfigure does not touch holds"),
        ("24.05.8", "scontrol reconfigure is a restart, but keeps holds"),
        ("25.05.6", "scontrol reconfigure is a restart, but keeps holds"),
    ],
)
def test_what_a_restart_does_to_holds_is_said_for_each_version(judged, version, said):
    findings = judged({"SLURM_VERSION": version})
    assert wrong(findings) == []
    assert said in of("restarts", findings).found


@pytest.mark.parametrize("version", ["25.05.7", "25.11.4", "26.05.3"])
def test_versions_that_forget_holds_are_to_be_drained_first(judged, version):
    found = only(judged({"SLURM_VERSION": version}))
    assert (found.grade, found.subject) == ("warning", "restarts")
    assert found.lines == ("cosched drain", "systemctl restart slurmctld", "cosched resume")


def test_the_delay_of_requeues_is_shown_and_a_shorter_one_named_where_it_can_be_set(judged):
    assert "requeue_delay" not in of("requeue delay", judged()).found
    newest = {"SLURM_VERSION": "25.11.0"}
    assert "requeue_delay=1 among" in of("requeue delay", judged(newest)).found
    short = newest | {"SchedulerParameters": CONFIG["SchedulerParameters"] + ",requeue_delay=2"}
    assert of("requeue delay", judged(short)).found.startswith("3 s: ")


def test_a_hook_that_is_missing_ends_slurmctld_where_a_reconfiguration_starts_it_anew(judged):
    missing = {"PrologSlurmctld": "/nowhere/prolog"}
    assert "jobs start without asking" in only(judged(missing)).found
    assert "slurmctld ends at its next" in only(judged(missing | {"SLURM_VERSION": "24.05.8"})).found
