"""Reads beside the service: of bounded statements, one at a time for each caller, and nothing is missed."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path

import pytest

from cosched.core.job import JobState
from cosched.core.protocol import named_mate
from cosched.service.api.reads import Reads
from cosched.service.store import Reader, Sample, Store, StoreError
from cosched.service.store import reading as store_reading
from cosched.service.store.records import EventRecord, JobRecord
from tests.service.store_examples import DOMAIN, add, event, job

JOBS, EVENTS_OF_A_JOB, RARE = 6000, 5, 9
STEPS_OF_A_ROW = 60  # of SQLite's virtual machine, for a row that is looked at
RANGE = 500


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A history in which few events are of the kind RARE, and few jobs have mates."""
    with closing(Store.open(tmp_path_factory.mktemp("history") / "a.db", DOMAIN)) as store:
        add(store, map(_job, range(1, JOBS + 1)), _events())
        yield store


def _job(number: int) -> JobRecord:
    state = JobState.COMPLETED if number % 3 else JobState.FAILED
    named = named_mate("b", "p") if number % 1500 == 1 else None
    return job(number, state, owner=f"user{number % 7}", ended_at=number, named=named)


def _events() -> Iterator[EventRecord]:
    for number in range(1, JOBS * EVENTS_OF_A_JOB + 1):
        yield event(number, 1 + number % JOBS, kind=RARE if number % 9000 == 1 else 1 + number % 5)


@contextmanager
def counted(reader: Reader) -> Iterator[list[int]]:
    """Steps of SQLite's virtual machine for each statement of this reader."""
    steps: list[int] = []
    reader._connection.set_trace_callback(lambda _: steps.append(0))

    def step() -> int:
        if steps:  # it counts while a statement is being prepared, too
            steps[-1] += 1
        return 0

    reader._connection.set_progress_handler(step, 1)
    yield steps
    reader._connection.set_trace_callback(None)
    reader._connection.set_progress_handler(None, 1)


@pytest.fixture
def reader(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    monkeypatch.setattr(store_reading, "RANGE", RANGE)
    with closing(store.reader()) as reader:
        yield reader


def all_events(reader: Reader, jobs: list[int], kinds: list[int], limit: int) -> list[int]:
    found: list[int] = []
    after: int | None = 0
    while after is not None:
        batch, after = reader.events(after, jobs, kinds, limit)
        found += [record.sequence for record in batch]
    return found


@pytest.mark.parametrize("limit", [7, 1000])
@pytest.mark.parametrize(
    ("jobs", "kinds"), [([], [RARE]), ([], []), ([17], []), ([17, 3000], [1, 2]), ([JOBS + 1], []), ([], [77])]
)
def test_events_are_read_whole_by_statements_that_look_at_few_rows(store, reader, jobs, kinds, limit):
    with counted(reader) as steps:
        found = all_events(reader, jobs, kinds, limit)
    assert found == [record.sequence for record in store.events(0, jobs, kinds, -1)]
    assert max(steps) < RANGE * STEPS_OF_A_ROW


@pytest.mark.parametrize(("kinds", "since"), [([RARE], 0), ([1, 2, RARE], 0), ([1], 60), ([77], 0)])
def test_the_last_events_are_read_by_statements_that_look_at_few_rows(store, reader, kinds, since):
    found: list[int] = []
    before: int | None = store.last_sequence() + 1
    with counted(reader) as steps:
        while before is not None:
            batch, before = reader.events_before(before, kinds, since)
            found += [record.sequence for record in batch]
    every = [record.sequence for record in store.events(0, [], kinds, -1) if record.at >= since]
    assert found == every[::-1]
    assert max(steps) < RANGE * STEPS_OF_A_ROW


def test_the_stories_of_a_few_jobs(store, reader):
    with counted(reader) as steps:
        found = reader.stories([17, 3000], [1, 2], 3)
    assert found == store.events(0, [17, 3000], [1, 2], -1)[-3:]
    assert max(steps) < RANGE * STEPS_OF_A_ROW


def test_samples_are_kept_as_long_as_the_history(tmp_path: Path):
    samples = [Sample(at, at, 2, 3, 4, 5, 6) for at in (100, 200, 300)]
    with closing(Store.open(tmp_path / "a.db", DOMAIN)) as store, closing(store.reader()) as reader:
        for sample in samples:
            with store.transaction():
                store.add_sample(sample, sample.at - 150)
        assert [reader.samples(since) for since in (0, 250)] == [samples[1:], samples[2:]]


def test_jobs_with_mates_that_have_ended(reader):
    assert [record.id for record in reader.ended_since(2000, 2)] == [4501, 3001]


EVERY = (None, None, False)
CONDITIONS = [
    EVERY, (None, None, True), ([JobState.COMPLETED, JobState.FAILED], None, True),
    ([JobState.FAILED], "user3", False), (None, "nobody", True), ([], None, False),
]  # fmt: skip


@pytest.mark.parametrize(("states", "owner", "paired_only"), CONDITIONS)
def test_jobs_are_read_whole_by_statements_that_look_at_few_rows(store, reader, states, owner, paired_only):
    found: list[int] = []
    after: int | None = 0
    with counted(reader) as steps:
        while after is not None:
            batch, after = reader.jobs(states, owner, paired_only, after, 300)
            found += [record.id for record in batch]
    assert found == [record.id for record in store.jobs(states, owner, paired_only, 0, -1)]
    assert max(steps) < RANGE * STEPS_OF_A_ROW


def test_gaps_in_the_numbers_are_not_walked_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(store_reading, "RANGE", RANGE)
    far = 10**12
    with closing(Store.open(tmp_path / "a.db", DOMAIN)) as store, closing(store.reader()) as reader:
        add(store, [job(1), job(far)], [event(1, 1), event(far, far)])
        with counted(reader) as steps:
            assert all_events(reader, [], [], 10) == [1, far]
            assert reader.jobs(*EVERY, 0, 10) == ([job(1)], RANGE)
            assert reader.jobs(*EVERY, RANGE, 10) == ([job(far)], far)
            assert reader.jobs(*EVERY, far, 10) == ([], None)
    assert len(steps) < 30


def test_a_reader_sees_what_is_on_record_and_can_write_nothing(tmp_path: Path):
    with closing(Store.open(tmp_path / "a.db", DOMAIN)) as store, closing(store.reader()) as reader:
        with store.transaction():
            store.add_events([event(1)])
            assert reader.last_sequence() == 0
        assert reader.last_sequence() == 1
        with pytest.raises(StoreError, match="readonly"):
            reader._execute("DELETE FROM events")


# Turns


@asynccontextmanager
async def reading(store: Store) -> AsyncIterator[Reads]:
    reads = Reads(store.reader())
    yield reads
    await reads.close()


async def test_a_caller_reads_once_at_a_time_and_others_do_not_wait_for_it(store: Store) -> None:
    async with reading(store) as reads:
        order: list[str] = []

        async def read(caller: str, until: asyncio.Event) -> None:
            async with reads.reading(caller):
                order.append(caller)
                await until.wait()

        go = asyncio.Event()
        greedy = [asyncio.create_task(read("ann", go)) for _ in range(5)]
        while not order:
            await asyncio.sleep(0)
        async with reads.reading("bob"):
            assert await reads.read(Reader.last_sequence) == JOBS * EVENTS_OF_A_JOB
        assert order == ["ann"]
        greedy[2].cancel()  # one that waits
        go.set()
        await asyncio.gather(*greedy, return_exceptions=True)
        assert order == ["ann"] * 4
        greedy.clear()
        await asyncio.sleep(0)
        assert not reads._reading


async def test_the_loop_goes_on_while_the_thread_reads(store: Store) -> None:
    async with reading(store) as reads:
        held = asyncio.Event()
        loop = asyncio.get_running_loop()

        def hold() -> int:  # in SQLite, until the loop has gone on
            loop.call_soon_threadsafe(held.set)
            return 1

        reads._reader._connection.create_function("hold", 0, hold)
        asked = asyncio.create_task(reads.read(Reader._value, "SELECT hold()", ()))
        await asyncio.wait_for(held.wait(), 60)
        assert await asked == 1
        assert len(await reads.jobs(None, "user3", False, 0, 10)) == 10
