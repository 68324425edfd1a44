"""Which jobs a page lists, in which order, and what its list of all jobs says, from made-up jobs."""

from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest

from cosched.client import Explanation, Job
from cosched.core.job import JobState
from cosched.core.protocol import named_mate
from cosched.service.manager.plans import Plan
from cosched.service.page.job_list import _start, _why
from cosched.service.page.listing import Listing, matching
from cosched.service.page.viewers import Policy, Viewer
from cosched.service.store import JobRecord
from cosched.v1 import explain_pb2
from tests.service.test_page_words import INSTANT, NOW, begun, holding, job, record, stamp


async def test_a_group_that_has_only_begun_is_not_among_those_that_are_over():
    """Its job here has ended; it comes before jobs that run, however long ago it ended."""
    ended = {"state": JobState.COMPLETED, "ended_at": INSTANT - 30}
    jobs = [record(5, **ended), begun(id=6, **ended), record(7, state=JobState.COMPLETED, ended_at=INSTANT - 9000)]
    listed = await listing(record(8, state=JobState.RUNNING, started_at=INSTANT - 5), ended=jobs).jobs(3600)
    assert [job.id for job in listed.paired.everybodys] == [6, 8, 5]


def listing(*active: JobRecord, ended: Any = (), places: Any = (), starts: Any = ()) -> Listing:
    """That of a domain with these jobs."""
    plan = AsyncMock(return_value=Plan(places=dict(places), starts=dict(starts)))
    described: Any = SimpleNamespace(
        domain=SimpleNamespace(jobs={str(job.id): job for job in active}),
        reads=SimpleNamespace(read=AsyncMock(return_value=list(ended))),
        clock=SimpleNamespace(now=lambda: INSTANT),
        explaining=SimpleNamespace(recent=plan),
    )
    return Listing(described)


async def test_all_jobs_are_listed_those_that_wait_in_the_order_of_the_queue():
    alone: dict[str, Any] = {"named": None}
    jobs = [record(1, nodes=4, **alone), record(2), record(3, state=JobState.RUNNING, started_at=5, **alone)]
    jobs += [holding(4, 10), record(5, owner="bob", **alone)]
    listed = await listing(*jobs, places={"1": (2, 3), "2": (3, 3), "5": (1, 3)}).jobs()
    assert [job.id for job in listed.active.everybodys] == [4, 3, 5, 1, 2]
    assert [job.id for job in listed.paired.everybodys] == [4, 2]
    assert (listed.sums.jobs[JobState.QUEUED], listed.sums.nodes[JobState.QUEUED]) == (3, 8)
    bob, nobody = Viewer("bob", False, "bob"), Viewer(None, False, "127.0.0.1")
    assert [job.id for job in listed.active.seen(Policy("own"), bob)] == [5]
    assert listed.active.seen(Policy("own"), nobody) == ()
    assert [job.id for job in matching(listed.active.seen(Policy("domain"), nobody), "bob")] == [5]


async def test_pairs_that_wait_are_listed_by_when_they_are_expected_to_start():
    jobs = [record(1), record(2), record(3), holding(4, 10)]
    listed = await listing(*jobs, starts={"2": INSTANT + 60, "1": INSTANT + 90}).jobs()
    assert [job.id for job in listed.paired.everybodys] == [4, 2, 1, 3]


@pytest.mark.parametrize(
    ("find", "found"),
    [("7", [7]), ("eureka:41", [2]), ("41", [2]), ("run9", [2]), ("RUN", [1, 2]), ("an", [1, 2]), ("zoe", [7]),
     ("nobody", []), ("", [1, 2, 7])],
)  # fmt: skip
def test_what_is_looked_for_is_found_by_its_names_or_else_by_a_part_of_them(find: str, found: list[int]):
    jobs = [record(1), record(2, named=named_mate("eureka", "run9")), record(7, named=None, owner="zoe")]
    jobs[1].job.group.jobs["eureka"] = "41"
    assert [job.id for job in matching(jobs, find)] == found


def test_the_list_of_jobs_tells_nothing_of_when_mates_start():
    """Their domains may not let the viewer see it; the page of the job asks them."""
    told = explain_pb2.Explanation()
    for estimate, seconds in ((told.job.start, 60), (told.mates.add().start, 900), (told.together, 900)):
        estimate.at.CopyFrom(stamp(seconds))
        estimate.source = explain_pb2.ESTIMATE_SOURCE_PLAN
    assert _start(Job(job(submitted_at=-60)), Explanation(told), NOW) == "in 1 min"
    runs = Job(job(submitted_at=-60, started_at=-30, latest_end=540))
    assert _start(runs, Explanation(told), NOW) == "30 s ago"
    assert _why(runs, Explanation(told), NOW) == "ends in 9 min at the latest"
