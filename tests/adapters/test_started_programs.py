"""A program whose start is cancelled, at whatever moment."""

import asyncio
from asyncio.subprocess import PIPE
from contextlib import suppress

import pytest

from cosched.host.programs import started

LISTENS = ("sh", "-c", "head -n 1 > /dev/null; echo heard")  # with a child, which waits for input


@pytest.mark.parametrize("program", [("true",), LISTENS], ids=["ends", "listens"])
@pytest.mark.parametrize("session", [False, True])
async def test_whoever_cancels_it_waits_for_its_end_and_no_longer(program, session):
    for turns in range(8):
        start = asyncio.create_task(started(*program, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=session))
        for _ in range(turns):
            await asyncio.sleep(0)
        start.cancel()
        with suppress(asyncio.CancelledError):
            async with asyncio.timeout(60):
                process = await start
            await process.communicate()


async def test_a_program_that_cannot_be_run_is_told():
    with pytest.raises(FileNotFoundError):
        await started("/no/program")
