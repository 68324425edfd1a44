"""Slots that are parts of a processor: by control groups where these can be made, else by nice."""

import asyncio
import logging
from pathlib import Path

import pytest

from cosched_adapters.local.limits import CpuLimits, niceness
from cosched_adapters.local.manager import create
from cosched_adapters.manager import End, SettingError
from tests.adapters.conftest import place  # noqa: F401
from tests.adapters.machine import machine
from tests.waiting import until

PERCENT = [100, 50, 20]
V1 = "12:memory:/a\n5:cpuacct,cpu:/box/service\n0::/\n"
V1_MOUNTS = "32 31 0:29 /box /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpuacct,cpu\n41 31 0:38 / /x rw - cgroup2 c rw\n"
V2 = "0::/system.slice/cosched.service/service\n"
V2_MOUNTS = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"


class Host:
    """A host's /proc and /sys, as folders and plain files; the files of a group are there once it is made."""

    def __init__(self, root: Path, groups: str, mounts: str) -> None:
        self.root = root
        (root / "proc/self").mkdir(parents=True)
        (root / "proc/self/cgroup").write_text(groups)
        (root / "proc/self/mountinfo").write_text(mounts)

    def limits(self, spool: Path = Path("/spool")) -> CpuLimits:
        return CpuLimits(PERCENT, "a", spool, self.root)


class Groups(Path().__class__):
    """A folder of groups: as the kernel does, it makes their files with them, and removes these with them."""

    files: tuple[str, ...] = ()

    def mkdir(self, *arguments, **options) -> None:
        super().mkdir(*arguments, **options)
        for name in self.files:
            (self / name).touch()

    def rmdir(self) -> None:
        for name in self.files:
            (self / name).unlink(missing_ok=True)
        super().rmdir()


def a_host(tmp_path: Path, monkeypatch, groups: str, mounts: str, *files: str) -> Host:
    monkeypatch.setattr(Groups, "files", files)
    return Host(Groups(tmp_path), groups, mounts)


def test_version_1_is_found_below_the_groups_of_the_service(tmp_path, monkeypatch):
    host = a_host(tmp_path, monkeypatch, V1, V1_MOUNTS, "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.shares")
    own = tmp_path / "sys/fs/cgroup/cpu/service"
    own.mkdir(parents=True)
    limits = host.limits()
    assert limits.find() == f"quotas of the control groups below {next(own.iterdir())}"
    assert (next(own.iterdir()) / "cpu.shares").read_text() == "3072"
    group, nice = limits.begin("7", [0, 2])
    assert nice == 0
    assert (Path(group) / "cpu.cfs_period_us").read_text() == "100000"
    assert (Path(group) / "cpu.cfs_quota_us").read_text() == "120000"
    limits.change("7", [1])
    assert (Path(group) / "cpu.cfs_quota_us").read_text() == "50000"
    limits.end("7")
    limits.close()
    assert list(own.iterdir()) == []


def test_version_2_passes_the_controller_on_below_the_group_that_is_delegated(tmp_path, monkeypatch):
    """The service is in a group of its own (DelegateSubgroup): no group that passes controllers on has processes."""
    host = a_host(tmp_path, monkeypatch, V2, V2_MOUNTS, "cpu.max", "cpu.weight", "cgroup.subtree_control")
    unit = tmp_path / "sys/fs/cgroup/system.slice/cosched.service"
    own = unit / "service"
    own.mkdir(parents=True)
    for group in (unit, own):
        (group / "cgroup.controllers").write_text("cpu memory\n")
    (own / "cgroup.subtree_control").mkdir()  # the kernel refuses it, too
    (unit / "cgroup.subtree_control").touch()
    limits = host.limits()
    assert f"below {unit}/cosched-a-" in limits.find()
    assert (unit / "cgroup.subtree_control").read_text() == "+cpu"
    group, _ = limits.begin("7", [2])
    assert (Path(group).parent / "cpu.weight").read_text() == "300"
    assert (Path(group) / "cpu.max").read_text() == "20000 100000"
    assert (Path(group).parent / "cgroup.subtree_control").read_text() == "+cpu"


def test_where_no_groups_can_be_made_it_is_nice_and_says_why(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    limits = Host(tmp_path, V1, V1_MOUNTS).limits()  # the folder of the group is not there
    limits.open([])
    [said] = [record for record in caplog.records if record.name.endswith("limits")]
    assert said.levelno == logging.WARNING
    assert "limited by nice, so only while others want the processors, too: no control groups can be" in said.message
    assert said.message.endswith(f"({tmp_path}/sys/fs/cgroup/cpu/service: No such file or directory)")
    assert limits.begin("7", [1]) == (None, 3)
    assert limits.begin("7", [0, 2]) == (None, niceness(60))
    assert "no group of processes here has the controller cpu" in Host(tmp_path / "none", "", "").limits().find()


def test_nice_values_follow_the_weights_of_the_kernel():
    """prio_to_weight of 0, 1, 3, 5, 10 and 19 is 1024, 820, 526, 335, 110 and 15."""
    shares = [100 * weight / 1024 for weight in (1024, 820, 526, 335, 110, 15)]
    assert [niceness(share) for share in shares] == [0, 1, 3, 5, 10, 19]
    assert niceness(1) == 19


def test_without_limits_nothing_is_made(tmp_path):
    limits = CpuLimits((), "a", tmp_path, tmp_path)
    limits.open([])
    assert limits.begin("7", [0]) == (None, 0)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ([100], "must be a list of 2 numbers, one for each slot"),
        (50, "must be a list of 2 numbers"),
        ([100, 0], "must have whole numbers from 1 to 100, in percent of one processor"),
        ([100, 101], "must have whole numbers from 1 to 100"),
        ([100, True], "must have whole numbers"),
        ([100, 1.5], "must have whole numbers"),
    ],
)
def test_wrong_parts_are_refused_in_one_line(tmp_path, wrong, why):
    with pytest.raises(SettingError) as refused:
        create("a", tmp_path, {"slots": 2, "cpu_percent": wrong})
    assert str(refused.value).startswith(f"cpu_percent: {why}") or why in str(refused.value)


# Real processes


@pytest.fixture
def real_groups(tmp_path: Path) -> None:
    limits = CpuLimits(PERCENT, "trial", tmp_path)
    said = limits.find()
    limits.close()
    if not limits.by_groups:
        pytest.skip(f"this host: {said}")


@pytest.mark.usefixtures("real_groups")
def test_a_job_runs_in_a_group_with_its_quota_until_it_is_forgotten(place: Path):  # noqa: F811
    async def story() -> None:
        async with machine(place, 3, cpu_percent=PERCENT) as here:
            await here.launch("1", "/bin/sh", "-c", "cat /proc/self/cgroup; sleep 600", where=("slot2",))
            folder = here.manager._limits._folder
            await here.line("1", 0)
            await until(lambda: f"/{folder.name}/1\n" in here.output("1"))
            assert quota(folder / "1") == "20000"
            assert (folder / "1/cgroup.procs").read_text().split()
        async with machine(place, 3, cpu_percent=PERCENT) as here:  # the service was restarted
            await here.manager.cancel("1")
            assert (await here.ended("1")).how is End.CANCELLED
            (folder / "left").mkdir(exist_ok=True)
            await here.manager.forget("1")
            assert not (folder / "1").exists()
        async with machine(place, 3, cpu_percent=PERCENT):
            assert not (folder / "left").exists()
        assert not folder.exists()

    asyncio.run(story())


def quota(group: Path) -> str:
    of_version_2 = group / "cpu.max"
    return (
        of_version_2.read_text().split()[0]
        if of_version_2.exists()
        else (group / "cpu.cfs_quota_us").read_text().strip()
    )


def test_a_job_is_nicer_where_there_are_no_groups(place: Path, monkeypatch):  # noqa: F811
    monkeypatch.setattr(CpuLimits, "_places", lambda _: iter(()))

    async def story() -> None:
        async with machine(place, 3, cpu_percent=PERCENT) as here:
            await here.run("1", "nice", where=("slot0",))
            await here.run("2", "nice", where=("slot1",))
            own, other = int(here.output("1")), int(here.output("2"))
            assert min(19, own + 3) == other

    asyncio.run(story())
