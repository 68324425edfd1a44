"""Kernels are compiled once for a host and a version, by one process, and a user is told in time."""

import fcntl
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core.caching import IndexDataCacheFile

from cosched.installation import compilation
from cosched.installation.compilation import announced, compiling, kernels_are_compiled, prepare_kernels, waiting

TOGETHER = 3


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty one."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compilation, "_prepared", set())
    return tmp_path


def use() -> None:
    """Stands for a use of kernels that takes a while."""
    with (Path(os.environ["NUMBA_CACHE_DIR"]) / "uses").open("a") as uses:
        for what in ("begins", "ends"):
            uses.write(f"{os.getpid()} {what}\n")
            uses.flush()
            os.sched_yield()


def other() -> None:
    """Another set."""


def start(barrier, said) -> None:
    def say(message: str) -> None:
        said.put((os.getpid(), message))
        barrier.wait()  # one compiles only when all others have seen that they have to wait

    prepare_kernels(use, say, "use")


def test_processes_that_start_together_wait_for_the_one_that_compiles_and_name_it(cache):
    fork = multiprocessing.get_context("fork")
    barrier, said = fork.Barrier(TOGETHER), fork.Queue()
    processes = [fork.Process(target=start, args=(barrier, said)) for _ in range(TOGETHER)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    uses = [line.split() for line in (cache / "uses").read_text().splitlines()]
    assert [what for _, what in uses] == ["begins", "ends"] * TOGETHER
    assert all(one[0] == two[0] for one, two in zip(uses[::2], uses[1::2], strict=True))
    told = dict(said.get() for _ in range(TOGETHER))
    [compiler] = [process for process, message in told.items() if message == compiling("use")]
    others = [message for process, message in told.items() if process != compiler]
    assert others == [waiting("use", f"process {compiler}")] * (TOGETHER - 1)
    assert kernels_are_compiled(use)


@pytest.mark.usefixtures("cache")
def test_nobody_waits_for_another_set():
    """A service of domains that meet stood for minutes behind a study, which compiled the simulator."""
    said = []

    def use_meanwhile() -> None:
        prepare_kernels(other, said.append, "other")
        assert kernels_are_compiled(other)
        assert not kernels_are_compiled(use_meanwhile)

    prepare_kernels(use_meanwhile, said.append, "use")
    assert said == [compiling("use"), compiling("other")]


@pytest.mark.usefixtures("cache")
def test_what_silent_processes_will_do_is_known_beforehand():
    """The workers of a study say nothing."""
    said = []

    def use_meanwhile() -> None:
        said.append(announced(use_meanwhile, "use"))

    said.append(announced(use_meanwhile, "use"))
    prepare_kernels(use_meanwhile, lambda _: None, "use")
    said.append(announced(use_meanwhile, "use"))
    assert said == [compiling("use"), waiting("use", f"process {os.getpid()}"), ""]


def test_only_one_process_at_a_time_changes_what_is_kept_of_a_function(cache, monkeypatch):
    """Sets share functions, and numba reads the index of one, changes it, and writes it: two at once would lose one."""
    changed = []

    def save_index(file: IndexDataCacheFile, overloads: dict[str, str]) -> None:
        with (cache / "index.lock").open() as again, pytest.raises(BlockingIOError):
            fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
        changed.append((file, overloads))

    monkeypatch.setattr(IndexDataCacheFile, "_save_index", save_index)
    index = IndexDataCacheFile(str(cache), "double", ())
    prepare_kernels(lambda: index.save("of integers", b""), lambda _: None, "use")
    assert len(changed) == 1


def test_each_set_of_kernels_is_told_of_when_it_is_compiled_and_only_then(cache):
    """A first replay was silent for half a minute where a service had compiled its own kernels before."""
    said = []
    prepare_kernels(other, said.append, "other")
    (cache / "kernels").mkdir()
    (cache / "kernels" / "slots.meet-1.py311.nbi").touch()  # what numba writes
    prepare_kernels(use, said.append, "use")
    assert said == [compiling("other"), compiling("use")]
    compilation._prepared.clear()  # as in the next process
    prepare_kernels(use, said.append, "use")
    prepare_kernels(other, said.append, "other")
    assert len(said) == 2


def test_kernels_of_another_installation_or_processor_do_not_count(cache, monkeypatch):
    prepare_kernels(other, lambda _: None, "other")
    assert kernels_are_compiled(other)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("llvmlite.binding.get_host_cpu_name", lambda: "another")
        assert not kernels_are_compiled(other)
    own = compilation._sources()
    copied = cache / "job.py"
    copied.write_bytes(Path(own[0]).read_bytes())
    monkeypatch.setattr(compilation, "_sources", lambda: [str(copied), *own[1:]])
    assert not kernels_are_compiled(other)


# What is used and said without a folder for caches, by a process of its own, and by one that it starts.
FOLDERS = """
import os, subprocess, sys
from cosched.installation.compilation import compiling, use_kernel_cache
use_kernel_cache()
print(os.environ["NUMBA_CACHE_DIR"], compiling("batch"), sep="\\n", flush=True)
if len(sys.argv) == 1:
    subprocess.run([sys.executable, *sys.orig_argv[1:], "again"], check=True)
"""


def folders(tmp_path: Path) -> tuple[Path, str]:
    """Return the folder that is used twice, and what is said, where no folder for caches can be written."""
    (tmp_path / "no-folder").touch()
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment |= {"XDG_CACHE_HOME": str(tmp_path / "no-folder"), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", FOLDERS]
    shown = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    folder, said, again, said_again = shown.splitlines()
    assert (folder, said) == (again, said_again)
    return Path(folder), said


def test_without_a_folder_for_caches_one_of_the_user_is_used_again(tmp_path):
    folder, said = folders(tmp_path)
    assert folder.parent == tmp_path / f"cosched-of-{os.geteuid()}"
    assert folder.parent.stat().st_mode & 0o777 == 0o700
    usual = tmp_path / "no-folder" / "cosched"
    assert f"once for this set, version and host, kept in {folder}, as {usual} cannot be written" in said
    assert folders(tmp_path)[0] == folder


@pytest.mark.parametrize("whose", ["open to others", "a link"])
def test_a_folder_that_another_user_could_write_is_not_used_and_what_is_used_instead_is_removed(tmp_path, whose):
    own = tmp_path / f"cosched-of-{os.geteuid()}"
    if whose == "a link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        own.symlink_to(tmp_path / "elsewhere")
    else:
        own.mkdir()
        own.chmod(0o770)
    folder, said = folders(tmp_path)
    assert folder.parent == tmp_path
    assert "for this run only, as no folder for a cache can be written" in said
    assert not folder.exists()
    assert not list(own.iterdir())


def test_kernels_of_a_scheduler_of_another_package_count_and_nothing_is_imported_to_find_them(tmp_path, monkeypatch):
    kernels = tmp_path / "moon" / "kernels"
    kernels.mkdir(parents=True)
    (kernels / "loop.py").touch()
    (tmp_path / "moon-1.dist-info").mkdir()
    (tmp_path / "moon-1.dist-info" / "entry_points.txt").write_text(
        "[cosched.schedulers]\nmoon = moon.kind:MOON\nnone = nowhere.kind:NONE\n"
    )
    before = compilation._sources()
    monkeypatch.syspath_prepend(tmp_path)
    assert compilation._sources() == [*before, str(kernels / "loop.py")]
    assert "moon" not in sys.modules
