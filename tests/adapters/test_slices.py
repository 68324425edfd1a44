"""While a long queue is read, others have their turn: each job is a slice here, however fast it is read."""

import asyncio
import itertools
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cosched.core.job import JobState
from cosched.core.protocol import named_mate
from cosched.service.manager.launches import Launches
from cosched.service.manager.offers import Offers
from cosched.service.manager.runner import Runner
from cosched.service.peers.linking import Coupled
from cosched.service.tasks import Tasks
from cosched_adapters import slices
from cosched_adapters.batch_system import BatchReport, Known
from cosched_adapters.gridengine.calls import GridEngine
from cosched_adapters.gridengine.commands import JobRow as GridEngineRow
from cosched_adapters.gridengine.records import Records
from cosched_adapters.gridengine.register import Register as GridEngineRegister
from cosched_adapters.gridengine.settings import read_settings as gridengine_settings
from cosched_adapters.manager import End, Ended, ManagerError, Started
from cosched_adapters.pbs.calls import Pbs
from cosched_adapters.pbs.commands import parse_jobs
from cosched_adapters.pbs.register import Register as PbsRegister
from cosched_adapters.pbs.settings import read_settings as pbs_settings
from cosched_adapters.programs import Failure
from cosched_adapters.slurm.calls import Slurm
from cosched_adapters.slurm.commands import each_row
from cosched_adapters.slurm.manager import SlurmManager
from cosched_adapters.slurm.register import Register as SlurmRegister
from cosched_adapters.slurm.settings import read_settings as slurm_settings

RECORDED = Path(__file__).parent
JOBS, ALL = 100, 98  # others have their turn a little less often


class Printing:
    """Prints the same whatever is asked for, or what a function says."""

    def __init__(self, printed: bytes | Callable[[Sequence[str]], bytes]) -> None:
        self._printed = printed

    async def run(self, argv: Sequence[str], failure: Failure, fine: Collection[int] = (0,)) -> bytes:  # noqa: ARG002
        return self._printed if isinstance(self._printed, bytes) else self._printed(argv)


@pytest.fixture(autouse=True)
def _each_is_a_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(0, slices.SLICE)
    monkeypatch.setattr(slices.time, "monotonic", lambda: next(clock))


@contextmanager
def others() -> Iterator[list[int]]:
    """How often others have their turn meanwhile."""
    turns = [0]

    async def count() -> None:
        while True:
            await asyncio.sleep(0)
            turns[0] += 1

    counting = asyncio.ensure_future(count())
    yield turns
    counting.cancel()


def of_slurm(name: str) -> bytes:
    """A hundred rows of what was recorded."""
    printed = (RECORDED / "slurm" / "recorded" / f"{name}.txt").read_bytes()
    first = printed[: printed.index(b"\n") + 1]
    return b"".join(b"%-11d" % (1000 + number) + first[11:] for number in range(JOBS))


def of_pbs() -> bytes:
    queue = json.loads((RECORDED / "pbs" / "recorded" / "queue.json").read_text())
    job = queue["Jobs"]["0.mira"]
    pairs = ({**job, "Resource_List": {**job["Resource_List"], "pair": f"p{number}"}} for number in range(JOBS))
    return json.dumps({**queue, "Jobs": {f"{n}.mira": pair for n, pair in enumerate(pairs)}}, indent="\t").encode()


def of_gridengine(argv: Sequence[str]) -> bytes:
    known = [f"job_number: {n}\nowner: ann\ncontext: pair=p{n}\n" for n in range(JOBS)]
    shown = [f'<job_list state="pending"><JB_job_number>{n}</JB_job_number></job_list>' for n in range(JOBS)]
    return ("".join(shown).join(("<a>", "</a>")) if "-xml" in argv else f"{'=' * 62}\n".join(known)).encode()


def rows_of(system: str) -> list[Any]:
    if system == "pbs":
        return parse_jobs(of_pbs())
    if system == "slurm":
        waits = {"state": "PENDING", "comment": "cosched:pair=p"}
        return [replace(row, **waits) for row in each_row(of_slurm("queue"))]
    return [GridEngineRow(str(n), "ann", pending=True, words={"pair": f"p{n}"}) for n in range(JOBS)]


def slurm(folder: Path) -> SlurmManager:
    made = SlurmManager(slurm_settings(folder, {}))
    printed = {True: of_slurm("details"), False: of_slurm("queue")}
    made._slurm._programs = Printing(lambda argv: printed["-j" in argv])  # type: ignore[assignment]
    return made


async def test_the_queue_of_slurm_is_read_in_slices(tmp_path: Path) -> None:
    calls: Slurm = slurm(tmp_path)._slurm
    with others() as turns:
        assert len(await calls.queue()) == JOBS
        assert turns[0] >= ALL
        assert len(await calls.details(["1"])) == JOBS
        assert turns[0] >= 2 * ALL


async def test_the_queue_of_pbs_is_read_in_slices(tmp_path: Path) -> None:
    calls = Pbs(pbs_settings(tmp_path, {}))
    calls._programs = Printing(of_pbs())  # type: ignore[assignment]
    calls._connection._broken = True
    with others() as turns:
        found = await calls.queue()
        assert turns[0] >= ALL
    assert found == parse_jobs(of_pbs())
    assert len(found) == JOBS


async def test_the_queue_of_grid_engine_is_read_in_slices(tmp_path: Path) -> None:
    calls = GridEngine(gridengine_settings(tmp_path, {}))
    calls._programs = Printing(of_gridengine)  # type: ignore[assignment]
    with others() as turns:
        found = await calls.queue()
        assert turns[0] >= 2 * ALL
    assert found == rows_of("gridengine")


async def test_jobs_of_slurm_that_are_new_are_looked_up_in_slices(tmp_path: Path) -> None:
    with others() as turns:
        await slurm(tmp_path)._learn([str(1 + n) for n in range(JOBS)])
        assert turns[0] >= 2 * ALL


class Book:
    """A register of a batch system, with a clock of its own."""

    def __init__(self, folder: Path, system: str) -> None:
        self.now = 0.0
        self.reports: list[BatchReport] = []
        told: Any = self.reports.append, lambda: self.now
        made: dict[str, Callable[[], Any]] = {
            "slurm": lambda: SlurmRegister(*told, lambda _: False),
            "pbs": lambda: PbsRegister(*told, *[lambda *_: None] * 3),
            "gridengine": lambda: GridEngineRegister(*told, Records(folder)),
        }
        list(Records(folder).open())
        self.register = made[system]()
        self.rows = rows_of(system)

    async def look(self) -> None:
        """See the same rows a second later; Slurm's register has its jobs looked up before."""
        self.now += 1
        began = self.register.begin_look()
        if isinstance(self.register, SlurmRegister):
            unknown = await self.register.unknown(self.rows)
            for row in self.rows if unknown else ():
                self.register.learn(row)
        self.now += 1
        await self.register.see(self.rows, began)


@pytest.mark.parametrize("system", ["slurm", "pbs", "gridengine"])
async def test_a_look_goes_through_jobs_in_slices_and_undoes_nothing_that_happens_meanwhile(
    tmp_path: Path, system: str
) -> None:
    """One job ends, and is forgotten, but by Slurm's manager; another is given another mate, by our word."""
    book = Book(tmp_path, system)
    await book.look()
    assert len(book.register.jobs) == JOBS
    book.reports.clear()
    first, last = book.rows[-2].job_id, book.rows[-1].job_id
    with others() as turns:
        looking = asyncio.ensure_future(book.look())
        while turns[0] < ALL // 2:
            await asyncio.sleep(0)
        book.register.note_end(book.register.jobs[first], Ended(first, 0, End.EXITED))
        assert system == "slurm" or book.register.forget(first)
        book.register.name(book.register.jobs[last], named_mate("x", "other"))
        await looking
        assert turns[0] >= (2 * ALL if system == "slurm" else ALL)  # it looks for what is unknown, too
    assert [report.job_id for report in book.reports] == [first]
    assert (first in book.register.jobs) == (system == "slurm")
    assert book.register.jobs[last].named == named_mate("x", "other")


async def test_what_a_manager_reports_at_once_is_heard_in_slices() -> None:
    class Manager:
        async def reports(self) -> Any:
            for number in range(JOBS):
                yield number

    class Work:
        heard: list[Ended] = []  # noqa: RUF012

        def hear(self, report: Any) -> None:
            self.heard.append(report)

        async def cancel(self, job: str) -> None:
            """Nothing is to be ended."""

    work: Any = Work()
    runner = Runner(None, Manager(), work, None)  # type: ignore[arg-type]
    with others() as turns:
        await runner._read()
        assert turns[0] >= ALL
    assert work.heard == list(range(JOBS))


class Restarted:
    """A domain with these jobs on record, and in which turn of the others it hears of each."""

    def __init__(self, jobs: Sequence[str], state: JobState) -> None:
        known = {"state": state, "preempted_at": None, "is_launched": True, "named": named_mate("x")}
        self.jobs = {job: SimpleNamespace(**known) for job in jobs}
        self.turns: list[int] = []
        self.heard: list[tuple[str, int]] = []

    def state(self, job: str) -> JobState:
        return self.jobs[job].state

    def end(self, job: str, *_: object) -> None:
        self.heard.append((job, self.turns[0]))
        self.jobs.pop(job, None)

    def hear(self, job: str, *_: object) -> None:
        self.heard.append((job, self.turns[0]))

    started = withdrawn = refused = hear

    def heard_in_slices(self, jobs: Sequence[str]) -> bool:
        """Whether these are all that it has heard of, and in no turn of more than two."""
        assert sorted(job for job, _ in self.heard) == sorted(jobs)
        return max(Counter(turn for _, turn in self.heard).values()) <= 2


IDS = [str(number) for number in range(JOBS)]
FOUND = {job: Known(job, 0, 1, "ann", named_mate("x", job)) for job in IDS}
ENDS = {job: replace(known, end=Ended(job, 0, End.EXITED)) for job, known in FOUND.items()}


@pytest.mark.parametrize(
    ("recorded", "state", "found"),
    [
        ((), JobState.QUEUED, FOUND),  # new: they name a domain that there is not
        (IDS, JobState.QUEUED, ENDS),
        (IDS, JobState.HOLDING, FOUND),  # they have lost their nodes
        (IDS, JobState.RUNNING, {}),
    ],
    ids=["new", "ended", "withdrawn", "unknown"],
)
async def test_jobs_of_a_batch_system_are_taken_up_in_slices_after_a_restart(
    recorded: Sequence[str], state: JobState, found: dict[str, Known]
) -> None:
    domain: Any = Restarted(recorded, state)
    system: Any = SimpleNamespace(mate_field="comment")
    slots: Any = SimpleNamespace(take_up=lambda: None)
    offers = Offers(domain, domain, system, cast(Any, None), Coupled(["b"]), Tasks(pytest.fail), slots)
    with others() as domain.turns:
        await offers.take_up(found, ())
    assert domain.heard_in_slices(IDS)


async def test_a_batch_system_s_job_is_taken_up_as_it_was_found_whatever_happens_between_two_slices() -> None:
    """A job that has lost its nodes is told to start meanwhile, by the answer of a peer: it is queued again then."""
    domain: Any = Restarted(IDS, JobState.READY)
    slots: Any = SimpleNamespace(take_up=lambda: None)
    offers = Offers(domain, domain, cast(Any, None), cast(Any, None), Coupled(["x"]), Tasks(pytest.fail), slots)
    with others() as domain.turns:
        taking_up = asyncio.ensure_future(offers.take_up({job: FOUND[job] for job in IDS}, ()))
        while not domain.heard:
            await asyncio.sleep(0)
        last = domain.jobs[IDS[-1]]
        last.state = JobState.RUNNING
        await taking_up
    assert len(domain.heard) == JOBS


async def test_jobs_of_a_launcher_are_taken_up_in_slices_after_a_restart() -> None:
    """Half of them run, and half are known to it no more."""
    domain: Any = Restarted(IDS, JobState.RUNNING)
    for record in domain.jobs.values():
        record.job = SimpleNamespace(again=False, start_at=None)
    launches = Launches(domain, cast(Any, SimpleNamespace(may_have_forgotten=True)), Tasks(pytest.fail))
    with others() as domain.turns:
        await launches.take_up({job: Started(job, 0) for job in IDS[::2]}, IDS)
    assert domain.heard_in_slices(IDS)


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        (b"qstat: what?", "Expecting {"),
        (b'{"timestamp": 1, "Jobs": {"1.mira": {"Job_Name": "x"}', "Expecting ,"),
        (b'{"timestamp": 1 "Jobs": {}}', "Expecting ,"),
        (b"{", "Expecting value"),
        (b"\xff", "can't decode"),
    ],
)
def test_what_is_no_json_is_an_error_wherever_it_ends(printed: bytes, said: str) -> None:
    with pytest.raises(ManagerError, match=f"^PBS has printed no JSON: .*{said}"):
        parse_jobs(printed)


@pytest.mark.parametrize("printed", [b"", b"{}", b'{"Jobs": []}', b'{"Jobs":{}}', b' { "a" : {"Jobs": {"1": {}}} } '])
def test_no_jobs_may_be_printed(printed: bytes) -> None:
    assert parse_jobs(printed) == []
