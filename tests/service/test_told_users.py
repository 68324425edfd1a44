"""What the users of a batch system are told of their jobs, in its own list of jobs."""

import time
from types import SimpleNamespace
from typing import Any

import pytest

from cosched.core.job import JobState
from cosched.service.planning.told_users import MOST, ToldUsers, line_of
from cosched.v1.explain_pb2 import Explanation
from cosched_adapters.manager import UnknownJobError

NOON = int(time.mktime((2026, 11, 29, 12, 0, 0, 0, 0, -1)))


def explained(text: str, at: int = 0, job: str = "7") -> Explanation:
    told = Explanation()
    told.job.job.job_id, told.job.reason.text, told.together.at.seconds = job, text, at
    return told


@pytest.mark.parametrize(
    ("text", "at", "line"),
    [
        ("waits for eureka:31", NOON + 7500, "cosched: waits for eureka:31, start expected 14:05"),
        ("waits for eureka:31", NOON + 86400, "cosched: waits for eureka:31, start expected 2026-11-30T12:00"),
        ("waits for eureka:31", 0, "cosched: waits for eureka:31"),
        ("", NOON, ""),
    ],
)
def test_a_line_says_why_and_until_when(text: str, at: int, line: str) -> None:
    assert line_of(explained(text, at), lambda: NOON) == line
    assert len(line_of(explained(1000 * "x", NOON), lambda: NOON)) <= MOST + len("cosched: ")


async def test_only_what_has_changed_is_told_and_nothing_once_the_job_runs() -> None:
    said, text, fails = list[tuple[str, str]](), "because", True

    async def tell(job: str, line: str) -> None:
        if fails:
            raise UnknownJobError(job)
        said.append((job, line))

    async def known(records: list[Any]) -> list[Explanation]:
        return [explained(text) for _ in records]

    record = SimpleNamespace(id=7, state=JobState.QUEUED, mates={"eureka": None})
    domain = SimpleNamespace(jobs={"7": record})
    told = ToldUsers(domain, SimpleNamespace(tell=tell), SimpleNamespace(known=known))
    await told.tell()
    fails = False
    for why in ("because", "because", "so"):
        text = why
        await told.tell()
    record.state = JobState.RUNNING
    for _ in range(2):
        await told.tell()
    assert said == [("7", "cosched: because"), ("7", "cosched: so"), ("7", "")]
