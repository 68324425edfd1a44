"""Jobs whose sizes change may say and tell what they will: memory stays small, and mistakes are one line."""

import gc
import json
import re
import tracemalloc
from pathlib import Path

import pytest

from cosched.core.job import JobState
from cosched.service.api.adaptive_api import checked_predictions
from cosched.service.api.views import Views
from cosched.service.domain.malleable import least_of, said_of
from cosched.service.domain.predictions import MOST_SIZES
from cosched.service.store import JobRecord
from cosched.service.wire.errors import Refusal
from cosched.v1 import job_pb2
from cosched_papers.fluid.models import MAX_IDEAL
from tests.service.hostile import SUBMISSIONS
from tests.service.job_records import queued
from tests.service.test_hostile_submissions import CASES, MIDDLE, SMALL, a_site, cancel_all
from tests.service.test_operations import Site
from tests.service.world import SCRIPT
from tests.waiting import until

MANY, A_TENTH = 10_000, 10 << 20  # jobs that come and go; bytes, of what a service has


@pytest.mark.soak
async def test_memory_after_ten_thousand_submissions_and_cancels_is_within_a_tenth_of_before(tmp_path: Path) -> None:
    """A service has 100 MB and more. An ended job is remembered for a while, since its mate may ask for it."""
    case = CASES["fluid"]
    async with a_site(tmp_path / "a", case, MIDDLE) as site:

        async def come_and_go(jobs: range) -> None:
            for job in jobs:
                await site.submit(f"{job}", **case.says(job % SUBMISSIONS, MIDDLE))
                for known in [*site.domain.jobs] if job % SUBMISSIONS == 0 else ():
                    site.domain.end(known, JobState.CANCELLED)

        await come_and_go(range(2 * SUBMISSIONS))  # what is loaded at first stays
        await cancel_all(site)
        tracemalloc.start()
        try:
            await come_and_go(range(MANY, 2 * MANY))
            gc.collect()
            remembered, (some, _) = len(site.domain.core.jobs), tracemalloc.get_traced_memory()
            await cancel_all(site)
            gc.collect()
            left, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert remembered == MANY
    assert some < 2 * A_TENTH
    assert left < A_TENTH


def above_the_machine(number: int) -> JobRecord:
    """A job that earlier versions took: its best size is far above all machines."""
    columns = {"least": "1", "model": "parabolic", "resize_s": "9"}
    record = queued(number, MAX_IDEAL - number, 100, 1000, owner="ann")
    record.columns = json.dumps(columns)
    return record


async def test_a_restart_with_sizes_above_the_machine_takes_no_more_than_with_others(tmp_path: Path) -> None:
    async with a_site(tmp_path / "a", CASES["fluid"], 8) as site:
        for number in range(1, SUBMISSIONS):
            with site.domain.turns.take():
                record = above_the_machine(number)
                site.domain.add(record, SCRIPT)
                site.domain.admit(record)
                site.domain.enqueue(record)
        assert sum(record.state is JobState.RUNNING for record in site.domain.jobs.values()) == 8
        tracemalloc.start()
        try:
            await site.restart()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert len(site.domain.jobs) == SUBMISSIONS - 1
        assert peak < 2 * 8 * MAX_IDEAL  # of all; a curve of each would take so much for each


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("least", "0", "least: 0 is below 1: a job has a node, or more"),
        ("least", "-2", "least: -2 is below 1: a job has a node, or more"),
        ("least", "-1", "least: '-1' says nothing: remove it"),
        ("least", "65", "least: 65 is more than its nodes, 64"),
        ("resize_s", "16777216", "resize_s: 16777216 is not a time from 0 s to less than 16,777,216 s"),
        ("resize_s", "-0.5", "resize_s: -1 is not a time from 0 s to less than 16,777,216 s"),
        ("resize_s", "-2", "resize_s: -2 is not a time from 0 s to less than 16,777,216 s"),
        ("resize_bytes", "-2", "resize_bytes: -2 is below 0"),
        ("resize_bytes", "1e13", "resize_bytes: '1e13' is too large"),
    ],
)
async def test_a_number_without_a_meaning_is_refused_by_its_name(tmp_path: Path, name: str, text: str, said: str):
    async with a_site(tmp_path / "a", CASES["fluid"], SMALL) as site:
        with pytest.raises(Refusal, match=f"^{re.escape(said)}$"):
            await site.submit(nodes=SMALL, columns={"least": "1", name: text})
        assert not site.domain.jobs


# What a running job tells


def tell(site: Site, record: JobRecord, seconds: int) -> None:
    told = [job_pb2.Prediction(nodes=nodes, exec_time=seconds / nodes) for nodes in range(1, MOST_SIZES + 1)]
    predictions = tuple(checked_predictions(told, 1, record.nodes))
    with site.domain.turns.take():
        site.domain.predict(str(record.id), predictions)
    assert site.domain.sizes.predicted(record) == predictions
    Views(site.domain, site.domain.clock).job(record)


async def test_what_a_job_tells_replaces_what_it_told_and_is_forgotten_with_it(tmp_path: Path) -> None:
    def used() -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        async with a_site(tmp_path / "a", CASES["fluid"], MOST_SIZES) as site:
            for turn in "ab":  # what is loaded at first stays
                record = await site.submit(turn, nodes=MOST_SIZES, columns={"least": "1"})
                await until(lambda: not site.tasks)
                before = used()
                tell(site, record, 1)
                once = used()
                for seconds in range(2, 9):
                    tell(site, record, seconds)
                last = used()
                await cancel_all(site)
                left = used()
    finally:
        tracemalloc.stop()
    assert last - before < 1.1 * (once - before)
    assert left - before < 0.1 * (once - before)


@pytest.mark.parametrize(("text", "least"), [("2.0", 2), ("4.", 4), ("1e0", 1), ("003", 3)])
async def test_a_job_has_the_least_size_that_was_read_however_it_was_written(tmp_path: Path, text: str, least: int):
    async with a_site(tmp_path / "a", CASES["fluid"], 8) as site:
        record = await site.submit(nodes=8, columns={"least": text})
        assert said_of(record) == {"least": str(least)}
        assert least_of(record) == least
        with pytest.raises(Refusal, match=r"^least: 100000000000 is more than its nodes, 8$"):
            await site.submit("again", nodes=8, columns={"least": "1e11"})
