"""Answers to calls of peers that take a while: each call gets its own, or one that says that it came too late."""

import asyncio

import pytest

from cosched.core.effects import Answer
from cosched.core.protocol import (
    MateStarted,
    MateTried,
    ProposeGroupStart,
    Reply,
    SettleGroupStart,
    StartJob,
    TryStartMate,
)
from cosched.service.domain.late_answers import Late, LateAnswers
from tests.service.replies import BOOKED, NO, SETTLED

TOO_LATE: list[tuple[Late, Reply]] = [
    (TryStartMate("b/7/1", "2", "7", 0), MateTried(False)),
    (StartJob("b/7/1", "2", "7", 3), MateStarted(False)),
    (ProposeGroupStart("b/7/1", "2", "7", 0, 60), NO),
]


@pytest.mark.parametrize(("request_", "refused"), TOO_LATE, ids=lambda value: type(value).__name__)
async def test_a_call_that_another_one_has_overtaken_is_refused_in_the_words_of_its_kind(request_, refused):
    late = LateAnswers()
    following = ProposeGroupStart("b/7/2", "2", "7", 0, 60, not_before=6000)
    first, second = (asyncio.ensure_future(late.of("b", call)) for call in (request_, following))
    await asyncio.sleep(0)
    late.tell(Answer("b", following, BOOKED._replace(earliest=6000)))
    assert (await first, await second) == (refused, BOOKED._replace(earliest=6000))
    assert type(first.result()) is type(refused)


async def test_a_call_that_waits_is_not_answered_by_what_is_said_to_an_earlier_one():
    """A member is asked for a slot while it hears that the proposal before is dropped; the drop waits for the disk."""
    late = LateAnswers()
    dropped, asked = SettleGroupStart("b/7/1", "2", "7", start=False), ProposeGroupStart("b/7/2", "2", "7", 0, 60)
    told, voted = (asyncio.ensure_future(late.of("b", call)) for call in (dropped, asked))
    await asyncio.sleep(0)
    late.tell(Answer("b", dropped, SETTLED))
    assert await told == SETTLED
    assert not voted.done()
    told = asyncio.ensure_future(late.of("b", dropped))
    await asyncio.sleep(0)
    late.tell(Answer("b", asked, BOOKED))
    assert await voted == BOOKED
    assert not told.done()
    told.cancel()


@pytest.mark.parametrize("request_", [request for request, _ in TOO_LATE], ids=lambda value: type(value).__name__)
async def test_a_retry_gets_the_answer_too(request_):
    late = LateAnswers()
    calls = [asyncio.ensure_future(late.of("b", request_)) for _ in range(2)]
    await asyncio.sleep(0)
    late.tell(Answer("b", request_, MateStarted(True)))
    assert [await call for call in calls] == [MateStarted(True)] * 2
