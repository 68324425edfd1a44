"""What `cosched doctor` finds beside Grid Engine 8.1.9, as qconf has printed it, with the lines that mend it."""

from pathlib import Path

import pytest

from cosched_adapters.findings import Finding, Grade
from cosched_adapters.gridengine.doctor import check_accounting, check_queue, check_rights, examine
from cosched_adapters.gridengine.settings import GridEngineSettings
from cosched_adapters.permissions import Account

SOCKET = Path("/run/cosched/hooks.sock")
QUEUE = f"""qname                 main.q
hostlist              localhost
shell                 /bin/sh
prolog                root@/etc/cosched/prolog \\
                      {SOCKET} /usr/bin
epilog                root@/etc/cosched/epilog {SOCKET}
shell_start_mode      posix_compliant
"""
CONFIGURATION = """#global:
prolog                       none
epilog                       none
execd_params                 none
reporting_params             accounting=true reporting=false \\
                             flush_time=00:00:01 \\
                             accounting_flush_time=00:00:00 joblog=false \\
                             sharelog=00:00:00
"""
GOOD = {"-so": "cosched", "-sm": "root", "-sql": "main.q", "-sq": QUEUE, "-sconf": CONFIGURATION}
NONE_DEFINED = {"-so": "no operator defined", "-sm": "no manager defined", "-sql": "no cqueue list defined"}
COSCHED = Account(900, "cosched", frozenset())


async def examined(folder: Path, **changed: str) -> dict[str, Finding]:
    """The findings beside a qconf that prints this; it fails for what it does not know, as the real one does."""
    shown = GOOD | {f"-{option}": text for option, text in changed.items()}
    for option, text in shown.items():
        (folder / option).write_text(text)
    script = f"#!/bin/sh\n[ -s {folder}/$1 ] && exec cat -- {folder}/$1\ncat -- {folder}/none$1 >&2\nexit 1\n"
    for option, text in NONE_DEFINED.items():
        (folder / f"none{option}").write_text(f"{text}\n")
    (folder / "qconf").write_text(script)
    (folder / "qconf").chmod(0o755)
    found = await examine(GridEngineSettings(hook_socket=SOCKET, records=folder, bin=folder), COSCHED)
    return {finding.subject: finding for finding in found}


async def test_a_good_set_up(tmp_path: Path) -> None:
    found = await examined(tmp_path)
    assert [*found] == ["qmaster", "rights", "queue main.q", "accounting"]
    assert {finding.grade for finding in found.values()} == {Grade.OK}


async def test_a_cluster_without_operators_answers_all_the_same(tmp_path: Path) -> None:
    """A list of qconf that is empty is an error of qconf: so is a new cluster's list of operators."""
    found = await examined(tmp_path, so="")
    assert found["qmaster"].grade is Grade.OK
    assert (found["rights"].grade, found["rights"].lines) == (Grade.PROBLEM, ("qconf -ao cosched",))


async def test_a_cluster_without_queues(tmp_path: Path) -> None:
    found = await examined(tmp_path, sql="")
    assert (found["queues"].grade, found["queues"].found) == (Grade.PROBLEM, "there is none: no job starts")


async def test_a_qmaster_that_is_away(tmp_path: Path) -> None:
    (tmp_path / "qconf").write_text("#!/bin/sh\necho 'error: commlib error: got select error' >&2\nexit 1\n")
    (tmp_path / "qconf").chmod(0o755)
    (found,) = await examine(GridEngineSettings(hook_socket=SOCKET, records=tmp_path, bin=tmp_path), COSCHED)
    assert (found.grade, found.lines) == (Grade.PROBLEM, ('bin = "/usr/bin"',))
    assert found.found == "does not answer: qconf: error: commlib error: got select error"


async def test_commands_that_are_not_there(tmp_path: Path) -> None:
    (found,) = await examine(GridEngineSettings(hook_socket=SOCKET, records=tmp_path, bin=tmp_path), COSCHED)
    assert found.found == f"does not answer: qconf is not found in {tmp_path}"


@pytest.mark.parametrize(("entitled", "grade"), [(["root"], Grade.PROBLEM), (["root", "cosched"], Grade.OK)])
def test_rights(entitled: list[str], grade: Grade) -> None:
    assert check_rights(entitled, COSCHED).grade is grade


@pytest.mark.parametrize(
    "prolog",
    ["NONE", "/etc/cosched/prolog /run/cosched/hooks.sock", "root@/etc/cosched/prolog /run/other.sock", "root@/x"],
)
def test_a_queue_whose_jobs_do_not_wait(prolog: str) -> None:
    shown = f"qname   main.q\nprolog  {prolog}\nepilog  root@/etc/cosched/epilog {SOCKET}\n"
    (found,) = check_queue("main.q", shown, SOCKET)
    assert found.grade is Grade.PROBLEM
    assert found.found == f"its jobs do not wait for their mates: its prolog is {prolog}"
    assert found.lines == (f'qconf -mattr queue prolog "root@/etc/cosched/prolog {SOCKET}" main.q',)


def test_a_queue_whose_jobs_do_not_tell_their_ends() -> None:
    asks, found = check_queue("main.q", QUEUE.partition("epilog")[0] + "epilog   NONE\n", SOCKET)
    assert (asks.grade, found.grade) == (Grade.OK, Grade.WARNING)
    assert found.lines == (f'qconf -mattr queue epilog "root@/etc/cosched/epilog {SOCKET}" main.q',)


@pytest.mark.parametrize(
    ("params", "grade", "found"),
    [
        ("accounting=true accounting_flush_time=0", Grade.OK, "written at once"),
        ("accounting=true accounting_flush_time=0:0:0 joblog=false", Grade.OK, "written at once"),
        ("accounting=true flush_time=00:00:00", Grade.OK, "written at once"),
        ("none", Grade.WARNING, "written late: ends of jobs are told up to 15 s late"),
        ("flush_time=00:01:30", Grade.WARNING, "written late: ends of jobs are told up to 90 s late"),
        ("accounting=false accounting_flush_time=0", Grade.PROBLEM, "not written: how jobs have ended stays unknown"),
    ],
)
def test_accounting(params: str, grade: Grade, found: str) -> None:
    told = check_accounting(f"#global:\nreporting_params             {params}\n")
    assert (told.grade, told.found) == (grade, found)
