"""The example of a foreign domain (docs/examples) and a service of ours start pairs together, whoever holds."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.live.owners import EXAMPLES
from tests.live.services import Service, fill, free_port, noted, script_that_notes, start_together, wait_until


@pytest.fixture
def both(make_service: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """Domain a, which is a service of ours, and the foreign domain b with 4 nodes."""
    monkeypatch.syspath_prepend(EXAMPLES)
    example, over = import_module("example_peer"), threading.Event()
    service: Service = make_service("a", scheme="hold", hold_check=1)
    address = f"127.0.0.1:{free_port()}"
    service.add_peer("b", address)
    service.start()
    made = SimpleNamespace(a=service, example=example, file=str(tmp_path / "b"), folder=tmp_path)
    made.b = example.Domain("b", 4, made.file, {"a": service.address}, hold=30.0)
    made.b.serve(address)
    with service.client() as client:
        made.owner = client.job(client.submit("#!/bin/sh\n")).owner

    def run() -> None:
        while not over.wait(0.05):
            made.b.step()

    thread = threading.Thread(target=run)
    thread.start()

    def stop() -> None:
        over.set()
        thread.join()
        made.b.server.stop(None).wait()
        made.b.kept.close()
        for process in made.b.processes.values():
            process.wait()

    made.stop = stop
    yield made
    stop()


def submit_there(both: SimpleNamespace) -> str:
    command = ["sh", "-c", f'echo "b 1 p $(date +%s.%N)" >> {both.folder}/starts']
    return str(both.b.submit(both.owner, 2, command, "a", "p"))


def over(both: SimpleNamespace, here: int, there: str) -> bool:
    with both.a.client() as client:
        return client.job(here).state == "completed" and both.b.jobs[there].state == "ENDED"


@pytest.mark.parametrize("first", ["a", "b"])
def test_who_comes_first_holds_until_the_other_comes(both: SimpleNamespace, first: str) -> None:
    with both.a.client() as client:
        if first == "b":
            there = submit_there(both)
            wait_until(lambda: both.b.jobs[there].state == "HOLDING", "it holds there")
        here = client.submit(script_that_notes(both.folder), pair="p")
        if first == "a":
            wait_until(lambda: client.job(here).state == "holding", "it holds here")
            there = submit_there(both)
    wait_until(lambda: over(both, here, there), "both have run")
    assert sorted(start[0] for start in noted(both.folder)) == ["a", "b"]
    assert start_together([both.a])
    assert both.a.faults() == []


def test_a_mate_that_queues_is_wanted_and_starts_the_pair_when_it_is_its_turn(both: SimpleNamespace) -> None:
    go = fill(both.a)
    with both.a.client() as client:
        here = client.submit(script_that_notes(both.folder), pair="p")
        there = submit_there(both)
        wait_until(lambda: both.b.jobs[there].state == "HOLDING", "it holds there")
        assert client.job(here).state == "queued"
    go.touch()
    wait_until(lambda: over(both, here, there), "both have run")
    assert start_together([both.a])


def test_a_copy_of_a_call_changes_nothing_also_after_a_restart(both: SimpleNamespace) -> None:
    wire, there = both.example.wire, submit_there(both)
    wait_until(lambda: both.b.jobs[there].state == "HOLDING", "it holds")
    job, caller = wire.JobRef(domain="b", job_id=there), wire.JobRef(domain="a", job_id="77")
    asked = wire.GetMateJobIdRequest(job=caller, pair="p", owner=both.owner)
    assert both.b.GetMateJobId(asked, None).mate == job
    held = both.b.GetMateStatus(wire.GetMateStatusRequest(job=job, caller=caller), None)
    ids = {"job": job, "caller": caller, "hold_generation": held.hold_generation}
    late, order = (wire.StartJobRequest(request_id=f"a/77/{n}", **ids) for n in (1, 2))
    assert both.b.StartJob(order, None).started
    both.stop()
    again = both.example.Domain("b", 4, both.file, {})
    assert [again.StartJob(each, None).started for each in (order, late)] == [True, False]
    assert again.processes == {}
    again.kept.close()
