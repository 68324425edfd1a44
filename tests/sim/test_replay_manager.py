"""The replay manager: its settings, its jobs, how they end, and what it knows after a restart."""

import asyncio
import time
from datetime import UTC, datetime

import pytest

from cosched.core.protocol import named_mate
from cosched_adapters.launcher import JobSpec, SpecError
from cosched_adapters.loading import load_manager
from cosched_adapters.manager import End, ManagerError, SettingError, UnknownJobError
from cosched_adapters.replay_time import ScaledTime, SharedTime
from cosched_sim.replay_manager.manager import ReplayManager
from tests.waiting import PATIENCE


@pytest.fixture
def make(tmp_path):
    """Makes managers of domain a, in lock-step if nothing else is said."""
    (tmp_path / "t.csv").write_text("job_id,submit,run,nodes,requested\nx,5,20,2,30\ny,0,10,1,5\nz,9,10,99,10\n")
    SharedTime.make(tmp_path / "time").close()

    def make(**settings) -> ReplayManager:
        lockstep = {} if "clock" in settings else {"clock": "lockstep", "time": "time"}
        values = {"trace": "t.csv", "nodes": 4, **lockstep, **settings}
        return load_manager("replay")("a", tmp_path / "state.db.replay", {k: v for k, v in values.items() if v != ""})

    return make


def real(**settings):
    return {"clock": "real", "start": int(time.time()) - 1, "speed": 100, **settings}


def spec(job: str) -> JobSpec:
    return JobSpec(job_id=job, nodes=1, walltime=10, directory="/")


async def opened(manager: ReplayManager, *jobs: str) -> ReplayManager:
    await manager.open()
    for job in jobs:
        await manager.launch(spec(job))
    return manager


# Settings


@pytest.mark.parametrize(
    ("settings", "key", "problem"),
    [
        ({"trace": ""}, "trace", "missing: which file?"),
        ({"trace": 7}, "trace", "must be the path of a file"),
        ({"nodes": 0}, "nodes", "0 is below 1"),
        ({"nodse": 4}, "nodse", "is not a setting of the replay manager"),
        ({"load": 0.5, "scale": 2}, "trace", "exclude each other"),
        ({"clock": "slow"}, "clock", "must be one of real, lockstep"),
        ({"speed": 2}, "speed", "has no meaning with the clock lockstep"),
        ({"time": ""}, "time", "missing: which file?"),
        ({"time": "nowhere"}, "time", "cannot be used"),
        ({"time": "t.csv", "off": "b"}, "off", "must be a list of names"),
        ({"events": 1}, "events", "must be true or false"),
        ({"clock": "real"}, "start", "missing: when is time 0"),
        (real(start="soon"), "start", "is not an instant such as"),
        (real(start=datetime(2026, 1, 1)), "start", "with a time zone"),
        (real(speed=0), "speed", "above 0"),
    ],
)
def test_a_bad_setting_is_named(make, settings, key, problem):
    with pytest.raises(SettingError) as refused:
        make(**settings)
    assert refused.value.key == key
    assert problem in refused.value.problem


@pytest.mark.parametrize(
    ("settings", "key", "problem"),
    [
        ({"trace": "nowhere"}, "trace", "No such file"),
        ({"nodes": ""}, "nodes", "the trace does not state"),
        ({"pairs": "pairs.csv"}, "pairs", "a has no job 'q'"),
        ({"pairs": "t.csv"}, "pairs", "has no column a"),
    ],
)
async def test_a_bad_file_is_named(make, tmp_path, settings, key, problem):
    (tmp_path / "pairs.csv").write_text("a,b\nq,1\n")
    with pytest.raises(SettingError) as refused:
        await make(**settings).open()
    assert refused.value.key == key
    assert problem in str(refused.value)


@pytest.mark.parametrize("start", [1767225600, "2026-01-01T00:00:00Z", datetime(2026, 1, 1, tzinfo=UTC)])
async def test_a_start_is_a_number_or_a_date(make, start):
    manager = await opened(make(**real(start=start)))
    assert [job.submit for job in manager.jobs] == [1767225600, 1767225605]
    await manager.close()


# Jobs


async def test_a_log_is_read_as_in_a_replay(make, tmp_path):
    (tmp_path / "log").write_text("1|0|100|1|UNLIMITED|a\nbad\n1|200|50|1|UNLIMITED|a\n")
    columns = ["JobID", "Submit", "Elapsed", "NNodes", "Timelimit", "Partition"]
    how = {
        "skip_bad": 1, "columns": columns, "timezone": "Europe/Berlin", "runs": "all", "partition_limit": {"a": "2m"},
    }  # fmt: skip
    manager = make(trace="log", **how)
    await manager.open()
    assert [(job.name, job.run, job.requested) for job in manager.jobs] == [("1-run1", 100, 120), ("1", 50, 120)]


async def test_jobs_are_those_that_fit_in_order_with_their_mates(make, tmp_path):
    (tmp_path / "pairs.csv").write_text("b,a,c\n,z,8\n,x,7\n1,,2\n3,y,\n")
    manager = await opened(make(pairs="pairs.csv", off=["c"]))
    assert manager.nodes == 4
    assert [(j.number, j.name, j.submit, j.nodes, j.requested, j.run) for j in manager.jobs] == [
        (1, "y", 0, 1, 10, 10),
        (2, "x", 5, 2, 30, 20),
    ]
    assert [j.named for j in manager.jobs] == [named_mate("b", "4"), named_mate("c", "2")]
    assert manager.off == {"c"}


def test_users_submit_nothing(make):
    with pytest.raises(SpecError, match="come from a trace"):
        make().check(spec("1"))


# In lock-step


async def test_jobs_end_when_their_time_is_told(make, tmp_path):
    manager, told = await opened(make()), SharedTime(tmp_path / "time")
    told.tell(7)
    for job in ("2", "1", "1"):  # a repeated launch starts nothing twice
        await manager.launch(spec(job))
    assert manager.next_end == 17
    assert manager.ended(16) == []
    assert manager.ended(17) == ["1"]
    assert manager.ended(27) == ["2"]
    assert manager.next_end is None
    with pytest.raises(ManagerError, match="lock-step"):
        await manager.cancel("1")
    told.close()


def test_a_told_time_is_seen_by_all(tmp_path):
    one = SharedTime.make(tmp_path / "time")
    other = SharedTime(tmp_path / "time")
    for instant in (0, 1, 2**35):
        one.tell(instant)
        assert other.now() == instant
    one.close()
    other.close()


# By the wall clock


def test_scaled_time_goes_through_its_start():
    before, start = time.time(), int(time.time()) - 50
    now = ScaledTime(start, 10).now()
    assert start + (before - start) * 10 <= now <= start + (time.time() - start) * 10


async def test_an_end_is_reported_once_it_has_come(make):
    manager = await opened(make(**real()), "1", "2")
    reports = manager.reports()
    first, second = [await asyncio.wait_for(anext(reports), PATIENCE) for _ in range(2)]
    assert [first.job_id, second.job_id] == ["1", "2"]
    assert all(report.succeeded for report in (first, second))
    assert first.at - first.started_at == 10 * 10**9
    await manager.close()


async def test_the_folder_of_its_launches_is_private(make, tmp_path):
    (tmp_path / "state.db.replay").mkdir(0o755)
    await opened(make(**real()), "1")
    assert (tmp_path / "state.db.replay").stat().st_mode & 0o777 == 0o700


async def test_a_cancelled_job_ends_at_once(make):
    manager = await opened(make(**real(speed=0.01)), "1")  # it runs for 1000 s
    with pytest.raises(ManagerError, match="has not ended"):
        await manager.forget("1")
    await manager.cancel("1")
    report = await asyncio.wait_for(anext(manager.reports()), PATIENCE)
    assert (report.job_id, report.how, report.succeeded) == ("1", End.CANCELLED, False)
    await manager.cancel("1")
    await manager.forget("1")
    with pytest.raises(UnknownJobError):
        await manager.cancel("1")
    await manager.close()


async def test_after_a_restart_jobs_run_on_or_have_ended(make, tmp_path):
    settings = real(speed=0.01)  # what runs, runs for long
    manager = await opened(make(**settings), "1", "2")
    await manager.cancel("1")
    await manager.close()
    with (tmp_path / "state.db.replay" / "launches").open("a") as journal:
        journal.write("3 17")  # it was killed in the middle of a line
    again = make(**settings)
    found = await again.open()
    assert found.keys() == {"1", "2"}
    assert found["1"].how is End.CANCELLED
    assert found["2"] is None
    await again.launch(spec("2"))  # does nothing
    await again.close()
    long_after = make(**{**settings, "start": settings["start"] - 9999, "speed": 2})
    found = await long_after.open()
    assert found["2"].succeeded
    await long_after.close()
