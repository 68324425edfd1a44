"""The commands of Slurm, and what they print: recorded from Slurm 22.05.8, unless a file's name says otherwise.

`queue-order` has accounts, priorities and partitions as they were printed; the others got these columns later.
"""

from pathlib import Path

import pytest

from cosched_adapters.manager import ManagerError, UnavailableError, UnknownJobError
from cosched_adapters.slurm import commands
from cosched_adapters.slurm.commands import JobRow, NotPendingError

RECORDED = Path(__file__).with_name("recorded")


def recorded(name: str) -> bytes:
    return (RECORDED / f"{name}.txt").read_bytes()


def details() -> dict[str, JobRow]:
    return {row.job_id: row for row in commands.each_row(recorded("details"), comments=True)}


def test_the_queue_is_read_job_by_job() -> None:
    rows = {row.job_id: row for row in commands.each_row(recorded("queue"))}
    assert {job: row.state for job, row in rows.items()} == {
        "1": "FAILED",
        "2": "CANCELLED",
        "3": "RUNNING",
        "4": "CONFIGURING",
        **dict.fromkeys(["5", "6", "7", "8", "9", "10", "11"], "PENDING"),
    }
    held = rows["4"]
    assert (held.nodes, held.restarts, held.can_yield, held.user, held.comment) == (2, 0, True, "nobody", None)
    assert held.submitted_at <= (held.eligible_at or 0) <= (held.started_at or 0)
    assert (held.ended_at or 0) - (held.started_at or 0) == 300
    assert (rows["1"].exit_code, rows["1"].signal, rows["1"].ended_at) == (3, 0, rows["1"].started_at)


@pytest.mark.parametrize("version", ["22.05", "26.05"])
def test_how_jobs_ended_is_read_as_squeue_of_each_version_prints_it(version: str) -> None:
    """`exit_code` is the number of wait(2) up to 22.05, CODE:SIGNAL since 23.02."""
    rows = {row.job_id: row for row in commands.each_row(recorded(f"ended-{version}"))}
    assert {job: (row.state, row.exit_code, row.signal) for job, row in rows.items()} == {
        "1": ("FAILED", 3, 0), "2": ("FAILED", 0, 9), "3": ("COMPLETED", 0, 0), "4": ("FAILED", 1, 0),
        "5": ("RUNNING", 0, 0), "6": ("PENDING", 0, 0),
    }  # fmt: skip


@pytest.mark.parametrize(("flag", "can_yield"), [(b"0", False), (b"1", True), (b"2", True)])
def test_a_batch_job_stays_one_when_its_launch_has_failed(flag: bytes, can_yield: bool) -> None:
    """BatchFlag counts the launches that failed."""
    printed = recorded("ended-26.05").replace(b" 1 1 root", b" 1 %b root" % flag)
    assert {row.can_yield for row in commands.each_row(printed)} == {can_yield}


def test_accounts_priorities_and_partitions() -> None:
    rows = {row.job_id: row for row in commands.each_row(recorded("queue-order"))}
    assert {job: row.account for job, row in rows.items()} == {
        **dict.fromkeys("12", "climate"), "3": "", **dict.fromkeys("4567", "fusion"), "8": "",
    }  # fmt: skip
    assert rows["3"].priority < rows["2"].priority < rows["1"].priority
    assert (rows["4"].priority, rows["7"].partitions, rows["8"].partitions) == (0, "short", "main,short")


def test_a_job_that_was_put_back_waits_for_its_start_time() -> None:
    row = details()["5"]
    assert (row.state, row.reason, row.restarts, row.ended_at) == ("PENDING", "BeginTime", 1, None)
    assert (row.eligible_at or 0) - row.submitted_at in (120, 121)


def test_arrays_heterogeneous_jobs_and_those_that_slurm_would_cancel_are_known_as_such() -> None:
    rows = details()
    assert {job: row.array for job, row in rows.items() if row.array} == {"9": "9"}
    assert {job: row.het for job, row in rows.items() if row.het} == {"10": "10", "11": "10"}
    assert [job for job, row in rows.items() if not row.can_yield] == ["6"]


def test_the_first_component_stands_for_a_heterogeneous_job() -> None:
    rows = details()
    whole = {row.job_id: row for row in commands.whole(list(rows.values()))}
    assert whole["10"].nodes == rows["10"].nodes + rows["11"].nodes
    assert whole["10"].others == (rows["11"].comment,)
    assert {job for job, row in whole.items() if row.is_part} == {"11"}
    assert {job for job, row in whole.items() if row != rows[job]} == {"10"}


def test_names_and_time_limits_come_with_the_comments() -> None:
    rows = details()
    assert {job: rows[job].time_limit for job in ("1", "3", "4")} == {"1": 365 * 86400, "3": 93840, "4": 300}
    assert {job: rows[job].name for job in ("1", "3", "7")} == {"1": "fails", "3": "run me", "7": "a\nb é"}


@pytest.mark.parametrize(
    ("shown", "seconds"), [("2:05", 125), ("1:00:00", 3600), ("3-00:00:01", 259201), ("INVALID", 0), ("UNLIMITED", 0)]
)
def test_durations_are_read_as_squeue_shortens_them(shown: str, seconds: int) -> None:
    assert commands.seconds(shown) == seconds


def test_a_comment_forges_no_row_whatever_is_in_it() -> None:
    rows = details()
    assert len(rows) == 11
    forged = rows["7"].comment or ""
    assert forged.startswith("cosched:pair=f é \x01 '\"$(x)`\n4 ")
    assert "CANCELLED" in forged
    assert rows["4"].state == "CONFIGURING"
    assert rows["8"].comment == f"\udcff\udcfe{1022 * 'z'}"  # as long as Slurm takes them
    assert rows["3"].comment == "cosched:mate=eureka/5 x"


@pytest.mark.parametrize("printed", [recorded("queue")[:-1], b"x" + recorded("queue")[1:], recorded("details")])
def test_what_is_not_rows_of_that_width_is_refused(printed: bytes) -> None:
    with pytest.raises(ManagerError, match="squeue printed"):
        list(commands.each_row(printed))


def test_no_jobs_are_no_rows() -> None:
    assert list(commands.each_row(b"")) == []


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("unknown", UnknownJobError), ("unknown-update", UnknownJobError), ("finished", UnknownJobError),
        ("not-pending", NotPendingError), ("down-squeue", UnavailableError), ("down-scontrol", UnavailableError),
        ("killed-scontrol", UnavailableError), ("machine-nodes", ManagerError),
    ],
)  # fmt: skip
def test_why_a_command_failed(name: str, kind: type[ManagerError]) -> None:
    error = commands.failure("scontrol", 1, recorded(name))
    assert type(error) is kind
    assert str(error).startswith("scontrol: ")


def test_a_command_that_says_nothing_or_much_fails_in_one_line() -> None:
    assert str(commands.failure("squeue", 7, b"\n")) == "squeue: exit 7"
    assert str(commands.failure("squeue", 1, b"\x1b[1m\xff" + 9999 * b"x")).isascii()
    assert len(str(commands.failure("squeue", 1, 9999 * b"x\n" + 9999 * b"y"))) < 300


def test_the_configuration() -> None:
    config = commands.parse_config(recorded("config"))
    assert config["SLURM_VERSION"] == "22.05.8"
    assert commands.parse_user(config["SlurmUser"]) == 0
    assert commands.parse_user("slurm(64030)") == 64030
    with pytest.raises(ManagerError, match="SlurmUser"):
        commands.parse_user("slurm")


def test_the_id_of_a_submitted_job() -> None:
    assert commands.parse_submitted(recorded("submitted")) == "12"
    assert commands.parse_submitted(b"12;cluster\n") == "12"
    with pytest.raises(ManagerError, match="not a job's id"):
        commands.parse_submitted(b"sbatch: hello\n")


def test_what_sbatch_says_line_by_line() -> None:
    said = b"sbatch: error: one\n\nsbatch: two\nsbatch: fatal: three\nTry \xff\n"
    assert commands.parse_said(said) == ["one", "two", "three", "Try \udcff"]


@pytest.mark.parametrize(
    "job_id", ["", "0", "-1", "1_", "_2", "1_2_3", "1,2", "5 ", "5\n", "٥", "99999999999", "--help"]
)
def test_only_ids_get_into_a_command(job_id: str) -> None:
    for command in (commands.checked, lambda job: commands.set_start(job, 0), lambda job: commands.details(["1", job])):
        with pytest.raises(UnknownJobError):
            command(job_id)


def test_the_arguments() -> None:
    assert commands.set_start("17", 30) == ["scontrol", "update", "jobid=17", "starttime=now+30"]
    assert commands.set_start("17", 0)[-1] == "starttime=now"
    assert commands.details(["17", "18"])[6:9] == ["-j", "17,18", "-O"]
    submitted = commands.submit(["--nodes=2", "--comment=a; b"], "--job.sh", ["-x"])
    assert submitted == ["sbatch", "--parsable", "--nodes=2", "--comment=a; b", "--", "--job.sh", "-x"]
    assert commands.submit([], None, []) == ["sbatch", "--parsable"]
    assert commands.submit([], None, ["-x"])[2:] == ["--", "/dev/stdin", "-x"]
