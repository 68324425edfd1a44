"""What a job says costs a domain no more than its machine does: the largest values that each column and option takes.

Work is counted in executed lines, and memory in bytes that are allocated: both are the same on a slow host.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from cosched.core.job import JobState
from cosched.core.scheduling.policies.backfilling import BACKFILLING
from cosched.core.scheduling.policies.ordering import parse_ordering
from cosched.core.scheduling.scheduler import ClusterSettings
from cosched.schedulers.batch import BATCH
from cosched.schedulers.column import Column
from cosched.schedulers.kind import SchedulerKind
from cosched.schedulers.loading import kinds
from cosched.service.domain.records import KEEP_ENDED
from cosched.service.wire.errors import Refusal
from cosched.service.wire.submissions import MAX_TIME_LIMIT
from tests.conformance.schedulers.kinds import example
from tests.installed import PAPERS
from tests.service.hostile import FEW, MIDDLE, SUBMISSIONS
from tests.service.test_operations import WANTED, Site
from tests.service.world import Node, domain_a
from tests.waiting import until

if PAPERS:
    from tests.papers.hostile import OF_PAPERS

SMALL, LARGE = 64, 1 << 15  # nodes
LEFT = 2000  # bytes that may be left of a job that has ended: tests remember jobs, too


@dataclass(frozen=True)
class Case:
    """What jobs say on a machine of so many nodes."""

    kind: SchedulerKind
    settings: Callable[[int], Any]
    says: Callable[[int, int], Mapping[str, Any]]  # the number of the submission, and of nodes


def _express(number: int, nodes: int) -> Mapping[str, Any]:
    return {"nodes": nodes - number, "time_limit": MAX_TIME_LIMIT, "columns": {"steady": "yes"}}


def _large(number: int, nodes: int) -> Mapping[str, Any]:
    return {"nodes": nodes - number, "time_limit": MAX_TIME_LIMIT}


def _batch(backfilling: str) -> Callable[[int], ClusterSettings]:
    return lambda nodes: ClusterSettings(nodes, parse_ordering("fcfs"), BACKFILLING[backfilling])


CASES = {
    "batch": Case(BATCH, _batch("easy"), _large),
    "batch-conservative": Case(BATCH, _batch("conservative"), _large),
    "express": Case(example.EXPRESS, lambda nodes: example.ExpressSettings(nodes, 10), _express),
    **({name: Case(*case) for name, case in OF_PAPERS.items()} if PAPERS else {}),
}


@asynccontextmanager
async def a_site(folder: Path, case: Case, nodes: int) -> AsyncIterator[Site]:
    folder.mkdir()

    class HostileNode(Node):
        kind = case.kind

        def _scheduler(self) -> Any:
            return case.kind.open(case.settings(nodes))

    node = domain_a(folder, names="a", kind=HostileNode)
    node.run_times = defaultdict(lambda: 10)
    site = Site(node)
    try:
        yield site
    finally:
        await site.running.close()
        node.world.close()


class Lines:
    """Counts the lines of Python that are executed."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> Lines:
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _trace(self, _: FrameType, event: str, __: object) -> Any:
        self.count += event == "line"
        return self._trace


async def submit(site: Site, case: Case, nodes: int, number: int) -> None:
    """Submit; what names an unknown class is refused."""
    with suppress(Refusal):
        await site.submit(f"{number}", **case.says(number, nodes))


async def cancel_all(site: Site) -> None:
    """All jobs end, and are forgotten."""
    for job in [*site.domain.jobs]:
        site.domain.end(job, JobState.CANCELLED)
    site.node.world.now += KEEP_ENDED + 1
    site.domain.tidy()
    assert not site.domain.core.jobs
    await until(lambda: not site.tasks)


def test_every_column_of_every_kind_is_tried() -> None:
    tried = {(case.kind.name, name) for case in CASES.values() for name in case.says(0, LARGE).get("columns", ())}
    known = [*kinds().values(), example.EXPRESS]
    assert tried == {(kind.name, column.asked) for kind in known for column in kind.columns()}


@pytest.mark.parametrize("name", CASES)
async def test_submissions_take_no_more_work_on_a_larger_machine(tmp_path: Path, name: str) -> None:
    found = {}
    for nodes in (SMALL, SMALL, LARGE):  # at first kernels are loaded
        async with a_site(tmp_path / f"{len(found)} {nodes}", CASES[name], nodes) as site:
            found[nodes] = []
            for number in range(FEW):
                with Lines() as counted:
                    await submit(site, CASES[name], nodes, number)
                found[nodes].append(counted.count)
            with Lines() as counted:
                await site.restart()
            found[nodes].append(counted.count)
    for small, large in zip(found[SMALL], found[LARGE], strict=True):
        assert large < 1.5 * small + 500


@pytest.mark.parametrize("name", CASES)
async def test_jobs_that_have_left_leave_nothing(tmp_path: Path, name: str) -> None:
    case, used = CASES[name], []
    try:
        async with a_site(tmp_path / "a", case, MIDDLE) as site:
            for turn in range(3):  # in the first kernels are loaded, in the second the tests' own lists grow
                if turn == 1:
                    tracemalloc.start()
                for number in range(SUBMISSIONS):
                    await submit(site, case, MIDDLE, turn * SUBMISSIONS + number)
                assert site.domain.jobs
                await cancel_all(site)
                gc.collect()
                used.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert used[2] - used[1] < SUBMISSIONS * LEFT


@pytest.mark.parametrize("name", ["batch", "express", "fluid", "molding"])
async def test_a_size_above_the_machine_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    async with a_site(tmp_path / "a", case, SMALL) as site:
        wanted = {**case.says(0, SMALL), "nodes": SMALL + 1}
        with pytest.raises(Refusal, match=f"^{SMALL + 1} nodes wanted, the machine has {SMALL}$"):
            await site.submit(**wanted)
        with pytest.raises(Refusal, match=f"^{SMALL + 1} nodes wanted, the machine has {SMALL}$"):
            site.operations.prospect(replace(WANTED, **wanted), "ann")
        assert not site.domain.jobs


# What is put on record

TEXTS = (
    *("0", "1", "2", "2.0", "4.", "+3", "007", ".5", "0.5", "1e0", "1e2", "1e11", "1e12", "-0", "-1", "-1.0", "-2"),
    *("1.9", "1e-7", "2.500", "999999.9999999", "1000000", "no", "yes", "linear", "parabolic", "high", "medium", "low"),
    *("4:900", "4:900 5:800", " 4:900   5:8e2", "04:900.0 5.:800", "1e11:7", "a class", "-", "\u0664"),
)


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        pytest.param(kind, column, id=f"{kind.name}-{column.asked}")
        for kind in (*kinds().values(), example.EXPRESS)
        for column in kind.columns()
    ],
)
def test_what_a_column_reads_is_kept_as_the_text_of_its_value(kind: SchedulerKind, column: Column) -> None:
    kept = set()
    for text in TEXTS:
        try:
            value = column.read(text)
            own = kind.own_texts({column.asked: text})[column.asked]
        except ValueError:
            continue
        kept.add(own)
        assert column.read(own) == value
        assert kind.own_texts({column.asked: own}) == {column.asked: own}
        assert not column.is_number or own == str(int(own))
    assert kept
