"""What a job says costs a domain no more than its machine does: the largest values that each column and option takes.

Work is counted in executed lines, and memory in bytes that are allocated: both are the same on a slow host.
"""

from __future__ import annotations

import gc
import json
import re
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
from cosched.core.settings import CoschedulingSettings
from cosched.schedulers.batch import BATCH
from cosched.schedulers.kind import SchedulerKind
from cosched.schedulers.loading import kinds
from cosched.service.api.adaptive_api import checked_predictions
from cosched.service.api.views import Views
from cosched.service.domain.malleable import least_of, said_of
from cosched.service.domain.predictions import MOST_SIZES
from cosched.service.domain.records import KEEP_ENDED
from cosched.service.store import JobRecord
from cosched.service.wire.errors import Refusal
from cosched.service.wire.submissions import MAX_NAME, MAX_TIME_LIMIT
from cosched.v1 import job_pb2
from cosched.workload.column import Column
from cosched_papers.fluid.kind import FLUID
from cosched_papers.fluid.models import MAX_IDEAL, MAX_RUN
from cosched_papers.fluid.settings import FluidSettings
from cosched_papers.heterogeneous.kind import HETEROGENEOUS
from cosched_papers.heterogeneous.settings import HeterogeneousSettings
from cosched_papers.heterogeneous.site import Machine
from cosched_papers.heterogeneous.site import Site as Machines
from cosched_papers.molding.kind import MOLDING
from cosched_papers.molding.settings import MoldingSettings, Sizing
from tests.conformance.schedulers.kinds import example
from tests.service.job_records import queued
from tests.service.test_operations import WANTED, Site
from tests.service.world import SCRIPT, Faults, Node, World
from tests.waiting import until

SUBMISSIONS, FEW = 60, 9
SMALL, MIDDLE, LARGE = 64, 1024, 1 << 15  # nodes
LEFT = 2000  # bytes that may be left of a job that has ended: tests remember jobs, too


class HostileNode(Node):
    world: HostileWorld

    @property
    def kind(self) -> SchedulerKind:
        return self.world.kind

    def _scheduler(self) -> Any:
        return self.world.kind.open(self.world.settings)


class HostileWorld(World):
    """One domain."""

    node_kind = HostileNode

    def __init__(self, folder: Path, kind: SchedulerKind, settings: Any) -> None:
        self.kind, self.settings = kind, settings
        super().__init__(folder, 1, {"a": CoschedulingSettings()}, Faults())


@dataclass(frozen=True)
class Case:
    """What jobs say on a machine of so many nodes."""

    kind: SchedulerKind
    settings: Callable[[int], Any]
    says: Callable[[int, int], Mapping[str, Any]]  # the number of the submission, and of nodes


def _fluid(number: int, nodes: int) -> Mapping[str, Any]:
    """The first ones all run, and change their sizes; the others wait for the whole machine."""
    least = 1 if number % SUBMISSIONS < FEW - 2 else nodes - number
    columns = {"least": str(least), "model": "parabolic", "resize_s": str(MAX_RUN - 1), "resize_bytes": "1e12"}
    return {"nodes": nodes - number, "time_limit": MAX_RUN - 1, "columns": columns}


def _downey(number: int, nodes: int) -> Mapping[str, Any]:
    bounds = {"min_nodes": "1", "max_nodes": str(nodes)}
    curve = {"downey_a": "1000000", "downey_sigma": "1000000"}
    return {"nodes": nodes - number, "time_limit": MAX_TIME_LIMIT, "columns": {"moldable": "1", **bounds, **curve}}


def _table(number: int, nodes: int) -> Mapping[str, Any]:
    times = " ".join(f"{size}:{10**12}" for size in range(nodes - number - 9, nodes - number + 1))
    return {"nodes": nodes - number, "time_limit": MAX_TIME_LIMIT, "columns": {"moldable": "1", "run_times": times}}


def _unlike(*, preemptive: bool) -> Callable[[int], HeterogeneousSettings]:
    machines = tuple(Machine(f"m{number}", "any") for number in range(MIDDLE))
    site = Machines(machines, preemptive=preemptive)
    return lambda _: HeterogeneousSettings(site, {("c" * MAX_NAME, each.name): 10 for each in machines})


def _classed(number: int, _: int) -> Mapping[str, Any]:
    job_class = "c" * MAX_NAME if number % 2 else f"{number}{'x' * (MAX_NAME - 3)}"  # half of them are refused
    return {"nodes": 1, "columns": {"job_class": job_class, "priority": ("high", "low")[number // 2 % 2]}}


def _express(number: int, nodes: int) -> Mapping[str, Any]:
    return {"nodes": nodes - number, "time_limit": MAX_TIME_LIMIT, "columns": {"steady": "yes"}}


def _large(number: int, nodes: int) -> Mapping[str, Any]:
    return {"nodes": nodes - number, "time_limit": MAX_TIME_LIMIT}


def _batch(backfilling: str) -> Callable[[int], ClusterSettings]:
    return lambda nodes: ClusterSettings(nodes, parse_ordering("fcfs"), BACKFILLING[backfilling])


def _molding(sizing: Sizing) -> Callable[[int], MoldingSettings]:
    return lambda nodes: MoldingSettings(nodes, sizing)


CASES = {
    "batch": Case(BATCH, _batch("easy"), _large),
    "batch-conservative": Case(BATCH, _batch("conservative"), _large),
    "express": Case(example.EXPRESS, lambda nodes: example.ExpressSettings(nodes, 10), _express),
    "fluid": Case(FLUID, FluidSettings, _fluid),
    "fluid-slots": Case(FLUID, lambda nodes: FluidSettings(nodes, slots=True), _fluid),
    "heterogeneous": Case(HETEROGENEOUS, _unlike(preemptive=False), _classed),
    "heterogeneous-preemptive": Case(HETEROGENEOUS, _unlike(preemptive=True), _classed),
    "molding": Case(MOLDING, _molding(Sizing.SCOJO_P), _downey),
    "molding-table": Case(MOLDING, _molding(Sizing.SCOJO_P), _table),
    "molding-scojo": Case(MOLDING, _molding(Sizing.SCOJO), _downey),
    "molding-none": Case(MOLDING, _molding(Sizing.NONE), _downey),
    "molding-chosen": Case(MOLDING, _molding(Sizing.CIRNE_BERMAN), _downey),
}


@asynccontextmanager
async def a_site(folder: Path, case: Case, nodes: int) -> AsyncIterator[Site]:
    folder.mkdir()
    world = HostileWorld(folder, case.kind, case.settings(nodes))
    world.nodes["a"].run_times = defaultdict(lambda: 10)
    site = Site(world.nodes["a"])
    try:
        yield site
    finally:
        await site.running.close()
        world.close()


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
    tracemalloc.start()
    try:
        async with a_site(tmp_path / "a", case, MIDDLE) as site:
            for turn in range(2):  # what is loaded at first, and the tests' own lists, grow once
                for number in range(SUBMISSIONS):
                    await submit(site, case, MIDDLE, turn * SUBMISSIONS + number)
                assert site.domain.jobs
                await cancel_all(site)
                gc.collect()
                used.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert used[1] - used[0] < SUBMISSIONS * LEFT


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
async def test_a_number_without_a_meaning_is_refused_by_its_name(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
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


@pytest.mark.parametrize(("text", "least"), [("2.0", 2), ("4.", 4), ("1e0", 1), ("003", 3)])
async def test_a_job_has_the_least_size_that_was_read_however_it_was_written(
    tmp_path: Path, text: str, least: int
) -> None:
    async with a_site(tmp_path / "a", CASES["fluid"], 8) as site:
        record = await site.submit(nodes=8, columns={"least": text})
        assert said_of(record) == {"least": str(least)}
        assert least_of(record) == least
        with pytest.raises(Refusal, match=r"^least: 100000000000 is more than its nodes, 8$"):
            await site.submit("again", nodes=8, columns={"least": "1e11"})
