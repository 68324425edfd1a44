"""The helper that has one connection to the server, and what becomes of commands if it is slow, dies, or is missing."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cosched_adapters.manager import ManagerError, UnavailableError, UnknownJobError
from cosched_adapters.pbs import commands, one_connection
from cosched_adapters.pbs.connection import Connection, NoConnectionError
from cosched_adapters.programs import Programs

RUN = ["qrun", "-H", "(a1:ncpus=1)", "7"]
# Answers "17" slowly, dies of "dies", and repeats all others.
HELPER = """#!{python}
import json, sys, time
for line in iter(sys.stdin.readline, ""):
    number, argv = json.loads(line)
    if argv[-1] == "dies":
        sys.exit()
    time.sleep(0.5 * (argv[-1] == "17"))
    gone = argv[-1] == "gone"
    print(json.dumps([number, int(gone), "Unknown Job Id" if gone else argv[-1]]), flush=True)
"""


def connected(folder: Path, timeout: float = 10) -> Connection:
    return Connection(Programs("PBS", folder, timeout, {}), timeout)


@pytest.fixture
async def connection(tmp_path: Path) -> AsyncIterator[Connection]:
    (tmp_path / "pbs_python").write_text(HELPER.format(python=sys.executable))
    (tmp_path / "pbs_python").chmod(0o755)
    connection = connected(tmp_path)
    yield connection
    await connection.close()


async def test_commands_are_answered_in_turn(connection: Connection) -> None:
    argvs = [[*RUN[:3], job] for job in "123"]
    said = await asyncio.gather(*(connection.run(argv, commands.failure) for argv in argvs))
    assert said == [b"1", b"2", b"3"]
    with pytest.raises(UnknownJobError):
        await connection.run([*RUN[:3], "gone"], commands.failure)


async def test_an_answer_for_a_caller_who_has_gone_is_not_taken_for_another(connection: Connection) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await connection.run([*RUN[:3], "17"], commands.failure)
    assert await connection.run(RUN, commands.failure) == b"7"


async def test_a_helper_that_dies_is_started_again(connection: Connection) -> None:
    assert await connection.run(RUN, commands.failure) == b"7"
    with pytest.raises(UnavailableError):
        await connection.run([*RUN[:3], "dies"], commands.failure)
    assert await connection.run(RUN, commands.failure) == b"7"


async def test_a_server_that_does_not_answer(tmp_path: Path, connection: Connection) -> None:
    assert await connection.run(RUN, commands.failure) == b"7"
    slow = connected(tmp_path, timeout=0.2)
    with pytest.raises(UnavailableError, match=r"no answer from PBS within 0\.2 s"):
        await slow.run([*RUN[:3], "17"], commands.failure)


@pytest.mark.parametrize("helper", [None, "#!/bin/sh\nexit 1\n"])
async def test_without_a_helper_the_commands_themselves_must_do(tmp_path: Path, helper: str | None) -> None:
    if helper is not None:
        (tmp_path / "pbs_python").write_text(helper)
        (tmp_path / "pbs_python").chmod(0o755)
    connection = connected(tmp_path)
    assert connection.can(RUN)
    with pytest.raises(NoConnectionError):
        await connection.run(RUN, commands.failure)
    assert not connection.can(RUN)


def test_the_helper_knows_the_commands_that_a_service_gives_again_and_again(tmp_path: Path) -> None:
    connection = connected(tmp_path)
    known = (commands.run("7", "(a1:ncpus=1)"), commands.QUEUE, commands.history("7"), commands.NODES)
    lines = (commands.SCHEDULE, commands.take_offline(["a1", "a2"], "7 ncpus=1"), commands.put_online(["a1"]))
    asked = (commands.disown(["a1"]), commands.listed("server", "scheduling"))
    assert all(map(connection.can, (*known, *lines, *asked)))
    assert all(one_connection.LINE.fullmatch(argv[2]) for argv in (*lines, *asked))
    others = (["qdel", "7"], commands.alter("7", {"pair": "p"}), commands.SERVER, commands.listed("hook"))
    assert not any(map(connection.can, others))


def test_a_line_of_qmgr_is_read() -> None:
    _, _, line = commands.take_offline(["a1", "a2"], "7 ncpus=1:mem=2gb")
    chain = one_connection.attributes_of(line.partition("a1,a2 ")[2])
    found = []
    while chain:
        found.append((chain[0].name, chain[0].resource, chain[0].value, chain[0].operation))
        chain = chain[0].next
    holder = (b"resources_available", b"cosched_holder", b"7 ncpus=1:mem=2gb", 0)
    assert found == [holder, (b"state", None, b"offline", one_connection.OPERATIONS["+="])]


def test_errors_are_those_of_the_commands() -> None:
    assert isinstance(commands.failure("qmgr", 1, one_connection.NO_SERVER.encode()), UnavailableError)
    assert type(commands.failure("qrun", 1, b"Resource temporarily unavailable")) is ManagerError


@pytest.mark.parametrize(
    ("read", "asked"),
    [(commands._job, one_connection.OF_A_JOB), (commands._node, one_connection.OF_A_NODE)],
    ids=["job", "node"],
)
def test_the_helper_asks_for_all_that_is_read(read, asked):
    class Fields(dict):
        def get(self, name, default=None):
            self[name] = None
            return default

    fields = Fields()
    read("1.mira", fields)
    assert fields.keys() == set(asked)
