"""What `cosched doctor` finds beside a PBS server, with the lines that mend it."""

from __future__ import annotations

from cosched.adapters.findings import Grade
from cosched.adapters.pbs import commands
from cosched.adapters.pbs.commands import JobRow, NodeRow
from cosched.adapters.pbs.doctor import (
    EVENTS,
    HOOK,
    RESOURCES,
    check_history,
    check_holds,
    check_hook,
    check_resources,
)

GOOD = {"enabled": "true", "event": ",".join(EVENTS), "alarm": "10"}
WAITS = JobRow("7", "", "ada", "Q", 10, 2, 60, 0, {}, array=False, rerunnable=True)


def test_a_good_set_up() -> None:
    found = [
        check_resources({name: {} for name in RESOURCES}),
        check_hook({HOOK: GOOD}),
        check_history({"job_history_enable": "True"}),
    ]
    assert {finding.grade for finding in found} == {Grade.OK}


def test_resources_that_are_missing() -> None:
    found = check_resources({"pair": {}, "mate": {}, "or_alone": {}})
    assert (found.grade, found.lines) == (
        Grade.PROBLEM,
        (f"qmgr -c 'create resource {commands.HOLDER} type=string,flag=h'",),
    )


def test_a_hook_that_is_missing_disabled_deaf_or_slow() -> None:
    assert check_hook({}).lines[0].startswith("qmgr -c 'create hook cosched event=")
    assert check_hook({HOOK: GOOD | {"enabled": "false"}}).grade is Grade.PROBLEM
    deaf = check_hook({HOOK: GOOD | {"event": "runjob"}})
    assert deaf.found == "it is not called for queuejob, modifyjob, movejob, jobobit"
    assert check_hook({HOOK: GOOD | {"alarm": "300"}}).grade is Grade.WARNING


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
