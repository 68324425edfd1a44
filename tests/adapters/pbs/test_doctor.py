"""What `cosched doctor` finds beside a PBS server, with the lines that mend it."""

from pathlib import Path

import pytest

from cosched_adapters.findings import Grade
from cosched_adapters.pbs import commands
from cosched_adapters.pbs.commands import JobRow, NodeRow
from cosched_adapters.pbs.doctor import (
    EVENTS,
    HOOK,
    RESOURCES,
    check_configuration,
    check_history,
    check_holds,
    check_hook,
    check_preemption,
    check_resources,
    check_rights,
    check_scheduling,
)
from cosched_adapters.permissions import Account

GOOD = {"enabled": "true", "event": ",".join(EVENTS), "alarm": "10"}
WAITS = JobRow("7", "", "ada", "Q", 10, 2, 60, 0, {}, array=False)


def test_a_good_set_up() -> None:
    found = [
        check_resources({name: {} for name in RESOURCES}),
        check_hook({HOOK: GOOD}),
        check_history({"job_history_enable": "True"}),
        check_scheduling({"scheduling": "True"}),
        check_configuration({"socket": "/run/cosched/hooks.sock"}, Path("/run/cosched/hooks.sock")),
    ]
    assert {finding.grade for finding in found} == {Grade.OK}


def test_resources_that_are_missing() -> None:
    found = check_resources({name: {} for name in RESOURCES if name != commands.HOLDER})
    assert (found.grade, found.lines) == (
        Grade.PROBLEM,
        (f"qmgr -c 'create resource {commands.HOLDER} type=string,flag=h'",),
    )


def test_a_hook_that_is_missing_disabled_deaf_or_slow() -> None:
    assert check_hook({}).lines[0].startswith("qmgr -c 'create hook cosched event=")
    assert check_hook({HOOK: GOOD | {"enabled": "false"}}).grade is Grade.PROBLEM
    deaf = check_hook({HOOK: GOOD | {"event": "runjob"}})
    assert deaf.found == "it is not called for queuejob, modifyjob, movejob, jobobit"
    slow = check_hook({HOOK: GOOD | {"alarm": "300"}})
    assert (slow.grade, slow.lines) == (Grade.WARNING, ("qmgr -c 'set hook cosched alarm = 10'",))


def test_a_hook_that_looks_elsewhere_for_the_service() -> None:
    found = check_configuration({"socket": "/run/other.sock"}, Path("/run/cosched/hooks.sock"))
    assert found.grade is Grade.PROBLEM
    assert found.lines == ("qmgr -c 'import hook cosched application/x-config default cosched.json'",)


@pytest.mark.parametrize(
    ("user", "server", "may"),
    [
        (Account(0, "root", frozenset()), {}, True),
        (Account(900, "cosched", frozenset()), {"operators": "ann@*, cosched@mira"}, True),
        (Account(900, "cosched", frozenset()), {"managers": "*@mira"}, True),
        (Account(900, "cosched", frozenset()), {"server_host": "mira", "managers": "ann@*"}, False),
    ],
)
def test_rights(user: Account, server: dict[str, object], may: bool) -> None:
    found = check_rights(server, user)
    assert found.lines == (() if may else ("qmgr -c 'set server operators += cosched@mira'",))


def test_scheduling_that_is_off() -> None:
    assert check_scheduling({"scheduling": "False"}).grade is Grade.WARNING


@pytest.mark.parametrize(
    ("text", "grade"),
    [
        ("preemptive_sched: true ALL\n", Grade.WARNING),
        ("preemptive_sched: false ALL\n", Grade.OK),
        ("# preemptive_sched: true ALL\nround_robin: False all\n", Grade.OK),
        (None, Grade.WARNING),
    ],
)
def test_preemption(tmp_path: Path, text: str | None, grade: Grade) -> None:
    path = tmp_path / "sched_config"
    if text is not None:
        path.write_text(text)
    found = check_preemption(path)
    assert (found.grade, found.lines) == (grade, () if grade is Grade.OK else ("preemptive_sched: false ALL",))


def test_no_history() -> None:
    assert check_history({}).grade is Grade.PROBLEM


def test_nodes_that_are_held_for_nobody() -> None:
    nodes = [NodeRow(name, ("offline",), holder, "", 1) for name, holder in (("a1", "7 ncpus=1"), ("a2", "8 ncpus=1"))]
    assert check_holds(nodes[:1], [WAITS], serving=True).found == "1, all for jobs that wait"
    left = check_holds(nodes, [WAITS], serving=False)
    assert left.found == "a2 offline for jobs that do not wait"
    assert left.lines == (
        "qmgr -c 'set node a2 state -= offline'",
        "qmgr -c 'unset node a2 resources_available.cosched_holder'",
    )


def test_a_held_node_that_somebody_has_put_online() -> None:
    found = check_holds([NodeRow("a1", ("free",), "7 ncpus=1", "", 1)], [WAITS], serving=True)
    assert (found.grade, found.lines) == (
        Grade.WARNING,
        ("qmgr -c 'unset node a1 resources_available.cosched_holder'",),
    )
