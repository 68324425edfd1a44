"""The longest names, groups and terms that a job can have leave nothing of it, whatever schedules it."""

import gc
import json
import tracemalloc
from pathlib import Path

import pytest

from cosched.core.protocol import LONGEST_OFFSET, MAX_MEMBERS, Terms, Window, named_group
from cosched.core.settings import OnMemberRequeued
from cosched.service.store import JobRecord
from cosched.service.wire.fields import MAX_OWNER, MAX_TIME
from cosched.service.wire.submissions import MAX_NAME
from cosched.service.wire.terms import MAX_TOGETHER
from cosched.validation.pair_names import MOST
from tests.service.job_records import queued
from tests.service.test_hostile_submissions import CASES, MIDDLE, Case, a_site, cancel_all

JOBS, LEFT = 20, 3000  # bytes of each that may be left: the timers of the test's world are some


def in_a_group(case: Case, number: int) -> JobRecord:
    """A job with the longest name, group and terms that are taken, beside its columns."""
    says = case.says(2 * number + 1, MIDDLE)  # of which none is refused
    others = tuple(f"{place:064}" for place in range(MAX_MEMBERS - 1))
    windows = tuple(Window(other, LONGEST_OFFSET, LONGEST_OFFSET) for other in others)
    named = named_group(f"{number:0{MOST}}", others, or_alone=True, windows=windows, at=MAX_TIME)
    named = named._replace(terms=Terms(others, True, OnMemberRequeued.REQUEUE, MAX_TOGETHER))
    owner, name = "o" * MAX_OWNER, "n" * MAX_NAME
    record = queued(number, says["nodes"], says.get("time_limit", 1), 1000, owner=owner, named=named, name=name)
    record.columns = json.dumps(case.kind.own_texts(says.get("columns", {})))
    return record


@pytest.mark.parametrize("name", ["batch", "express", "fluid", "heterogeneous", "molding"])
async def test_the_longest_names_groups_and_terms_leave_nothing_either(tmp_path: Path, name: str) -> None:
    case, used = CASES[name], []
    tracemalloc.start()
    try:
        async with a_site(tmp_path / "a", case, MIDDLE) as site:
            for turn in range(2):
                site.domain.turns.outside.call = lambda _: None  # nobody is there
                for number in range(turn * JOBS, (turn + 1) * JOBS):
                    site.node._submit(in_a_group(case, 1 + number))
                assert len(site.domain.jobs) == JOBS
                await cancel_all(site)
                gc.collect()
                used.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert used[1] - used[0] < JOBS * LEFT
