"""Kernels are compiled once for a host and a version, by one process, and a user is told in time."""

import multiprocessing
import os
from pathlib import Path

import pytest

from cosched import compilation
from cosched.compilation import MESSAGE, WAITING, kernels_are_compiled, prepare_kernels

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
        said.put(message)
        if message == MESSAGE:
            barrier.wait()  # nobody begins before all have seen that they have to

    prepare_kernels(use, say)


def test_processes_that_start_together_compile_one_after_the_other(cache):
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
    messages = [said.get() for _ in range(TOGETHER)]
    assert messages.count(MESSAGE) + messages.count(WAITING) == TOGETHER
    assert kernels_are_compiled(use)


def test_each_set_of_kernels_is_told_of_when_it_is_compiled_and_only_then(cache):
    """A first replay was silent for half a minute where a service had compiled its own kernels before."""
    said = []
    prepare_kernels(other, said.append)
    (cache / "kernels").mkdir()
    (cache / "kernels" / "slots.meet-1.py311.nbi").touch()  # what numba writes
    prepare_kernels(use, said.append)
    assert said == [MESSAGE, MESSAGE]
    compilation._prepared.clear()  # as in the next process
    prepare_kernels(use, said.append)
    prepare_kernels(other, said.append)
    assert said == [MESSAGE, MESSAGE]


def test_kernels_of_another_installation_or_processor_do_not_count(cache, monkeypatch):
    prepare_kernels(other, lambda _: None)
    assert kernels_are_compiled(other)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("llvmlite.binding.get_host_cpu_name", lambda: "another")
        assert not kernels_are_compiled(other)
    own = compilation._sources()
    copied = cache / "job.py"
    copied.write_bytes(Path(own[0]).read_bytes())
    monkeypatch.setattr(compilation, "_sources", lambda: [str(copied), *own[1:]])
    assert not kernels_are_compiled(other)
