"""What PBS's commands print, recorded: numbers for texts, missing keys, dates of ctime, arrays, errors."""

from pathlib import Path

import pytest

from cosched_adapters.manager import End, ManagerError, UnavailableError, UnknownJobError
from cosched_adapters.pbs import commands
from cosched_adapters.pbs.commands import JobRow
from cosched_adapters.pbs.ends import ended
from cosched_adapters.pbs.register import lines, places

RECORDED = Path(__file__).with_name("recorded")


def history() -> dict[str, JobRow]:
    return {row.job_id: row for row in commands.parse_jobs((RECORDED / "history.json").read_bytes())}


def test_a_queued_job_has_no_nodes_yet() -> None:
    (job, *_) = commands.parse_jobs((RECORDED / "queue.json").read_bytes())
    assert (job.job_id, job.owner, job.state, job.nodes, job.walltime) == ("0", "root", "Q", 2, 60)
    assert (job.vnodes, job.started_at, job.ended_at, job.exit_code) == ("", None, None, None)
    assert job.resources == {"pair": "rej"}
    assert (job.comment, job.expected) == ("Not Running: PBS Error: waits for its mate", None)


def test_a_job_that_is_calendared_has_an_expected_start() -> None:
    printed = b'{"Jobs": {"9.mira": {"estimated": {"exec_vnode": "(a:ncpus=1)", "start_time": 1795409578}}}}'
    assert [job.expected for job in commands.parse_jobs(printed)] == [1795409578]


def test_a_job_is_charged_to_its_account_name_or_else_to_its_project() -> None:
    rows = commands.parse_jobs((RECORDED / "accounts.json").read_bytes())
    assert {row.job_id: row.account for row in rows} == {
        "0": "climate", "1": "climate", "2": "fusion", "3": "climate", "4": "", "5": "",
    }  # fmt: skip


def test_places_are_those_in_each_queue() -> None:
    """Job 0 runs, 4 is held; 3 is in a queue of its own."""
    rows = commands.parse_jobs((RECORDED / "accounts.json").read_bytes())
    assert places(lines(rows)) == {"1": (1, 3), "2": (2, 3), "5": (3, 3), "3": (1, 1)}


def test_a_pair_that_is_named_by_a_number_is_a_text() -> None:
    assert history()["2"].resources == {"pair": "123"}


def test_a_running_job_has_nodes_and_a_start() -> None:
    job = history()["1"]
    assert (job.state, job.vnodes, job.walltime, job.name) == ("R", "(mira1:ncpus=1)", 3600, "run")
    assert job.started_at is not None
    assert job.started_at >= job.submitted_at


def test_an_array_is_told_from_a_job() -> None:
    assert history()["3"].array
    assert not history()["1"].array
    assert commands.job_number("3[2].mira") == "3"


@pytest.mark.parametrize(
    ("job", "how", "exit_code", "signal"),
    [
        ("4", End.EXITED, 3, None), ("5", End.SIGNALLED, None, 9), ("6", End.TIMEOUT, None, None),
        ("7", End.CANCELLED, None, None), ("8", End.CANCELLED, None, None),
    ],
)  # fmt: skip
def test_ends(job: str, how: End, exit_code: int | None, signal: int | None) -> None:
    end = ended(history()[job])
    assert (end.how, end.exit_code, end.signal) == (how, exit_code, signal)
    assert (end.started_at is None) == (job == "8")


def test_nodes_without_the_mom_s_own() -> None:
    nodes = commands.parse_nodes((RECORDED / "nodes.json").read_bytes())
    assert [(node.name, node.states, node.holder) for node in nodes] == [
        ("mira1", ("job-exclusive",), ""),
        ("mira2", ("free",), ""),
        ("mira3", ("offline",), "0 ncpus=1"),
        ("mira4", ("offline",), "0 ncpus=1"),
    ]
    assert commands.held_for(nodes[2].holder) == ("0", "ncpus=1")
    assert commands.held_for(nodes[0].holder) is None
    assert commands.held_for("somebody else's word") is None


def test_no_jobs_at_all() -> None:
    assert commands.parse_jobs((RECORDED / "empty.json").read_bytes()) == []


def test_the_known_ones_of_some_jobs() -> None:
    assert [job.job_id for job in commands.parse_jobs((RECORDED / "some-unknown.json").read_bytes())] == ["0"]


def test_what_is_no_json() -> None:
    with pytest.raises(ManagerError, match="no JSON"):
        commands.parse_jobs(b"qstat: what?")


def test_chunks_and_back() -> None:
    vnodes = "(a1:ncpus=2:mem=4gb)+(a2:ncpus=1+a3:ncpus=1)"
    assert commands.chunks(vnodes) == {"a1": "ncpus=2:mem=4gb", "a2": "ncpus=1", "a3": "ncpus=1"}
    assert commands.joined({"a1": "ncpus=2", "a2": "ncpus=1"}) == "(a1:ncpus=2)+(a2:ncpus=1)"


@pytest.mark.parametrize(
    ("recorded", "kind"),
    [
        ("qrun-unknown", UnknownJobError), ("qdel-finished", UnknownJobError), ("qrun-busy", ManagerError),
        ("qmgr-unknown-node", ManagerError), ("qstat-silent", UnavailableError), ("qrun-silent", UnavailableError),
    ],
)  # fmt: skip
def test_errors(recorded: str, kind: type[ManagerError]) -> None:
    said = (RECORDED / f"{recorded}.err").read_bytes()
    assert type(commands.failure(recorded.partition("-")[0], 2, said)) is kind


def test_a_job_can_be_queued_again_unless_its_user_says_no() -> None:
    printed = (RECORDED / "queue.json").read_bytes()
    assert all(row.rerunnable for row in commands.parse_jobs(printed))
    said_no = printed.replace(b'"Rerunable":\t"True"', b'"Rerunable":\t"False"')
    assert not any(row.rerunnable for row in commands.parse_jobs(said_no))


@pytest.mark.parametrize(("text", "seconds"), [("00:01:00", 60), ("1:00:00", 3600), ("90", 90), ("", 0), ("x", 0)])
def test_durations(text: str, seconds: int) -> None:
    assert commands.seconds(text) == seconds


def test_objects_as_qmgr_lists_them() -> None:
    printed = b"Hook cosched\n    enabled = true\n    event = runjob,jobobit\n\nResource pair\n    type = string\n"
    assert commands.parse_listed(printed) == {
        "cosched": {"enabled": "true", "event": "runjob,jobobit"},
        "pair": {"type": "string"},
    }


def test_a_value_of_several_lines_and_a_hook_s_settings() -> None:
    listed = commands.parse_listed(b"Hook pbs_cgroups\n    event = execjob_begin,execjob_end,\n\texecjob_attach\n")
    assert listed == {"pbs_cgroups": {"event": "execjob_begin,execjob_end,execjob_attach"}}
    assert commands.parse_object(b'{"socket": "/run/cosched/hooks.sock"}\n') == {"socket": "/run/cosched/hooks.sock"}
    said = b"qmgr obj=nohook svr=default: nohook does not exist!\nqmgr: hook error returned from server\n"
    assert type(commands.failure("qmgr", 1, said)) is commands.UnknownObjectError


@pytest.mark.parametrize("text", ["", "x", "-1", "1.", "1 2", "1.mira\n", "0x1"])
def test_what_is_no_job(text: str) -> None:
    with pytest.raises(ValueError, match="not the id of a PBS job"):
        commands.job_number(text)
