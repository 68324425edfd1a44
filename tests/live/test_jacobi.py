"""A Jacobi solver grows and shrinks while others come and go, and computes what a serial one does (fluid.md, Live)."""

import random
import re
import sys
from pathlib import Path

import pytest

from cosched.client import Client
from tests.live.services import Service
from tests.tiers import seeds
from tests.waiting import wait_until

pytestmark = pytest.mark.papers

SOLVER = Path(__file__).resolve().parents[2] / "deploy" / "examples" / "malleable" / "jacobi.py"
SCRIPT = SOLVER.read_text().replace("#!/usr/bin/env python3", f"#!{sys.executable}")
RIGID = """#!/bin/bash
while [ ! -e $1 ]; do sleep 0.05; done
"""
SLOTS = 4  # of a service


@pytest.fixture
def service(make_service):
    made = make_service("a")
    made.schedule_by("fluid")
    return made


def solver(client: Client, end: Path, nodes: int = SLOTS, least: int = 1) -> str:
    arguments = ["--size", "60", "--iterations", "20", "--until", str(end)]
    return client.submit(SCRIPT, arguments, nodes=nodes, least=least, time_limit=3600).id


def said(service: Service, job: str) -> str:
    return (service.folder / f"cosched-{job}.out").read_text()


@pytest.mark.soak
def test_the_solver_gives_and_gets_processes_and_its_domain_is_killed_meanwhile(service: Service, tmp_path: Path):
    service.start()
    with service.client() as client:
        job = solver(client, tmp_path / "one")
        wait_until(lambda: client.job(job).malleable.exec_time, "it iterates")
        client.submit(RIGID, [str(tmp_path / "two")], nodes=3, time_limit=600)
        wait_until(lambda: client.job(job).malleable.using == 1, "it has shrunk")
        service.kill()
        (tmp_path / "two").touch()
        service.start()
        wait_until(lambda: client.job(job).malleable.using == SLOTS, "it has grown")
        (tmp_path / "one").touch()
        wait_until(lambda: client.job(job).state == "completed", f"its end: {said(service, job)}")
    assert re.fullmatch(r"\d+ iterations on \[4, 1, 4\] processes: the same as a serial solve\n", said(service, job))


@pytest.mark.parametrize("seed", seeds(0, 4))
def test_solvers_come_and_go_while_their_domain_is_killed_again_and_again(service: Service, tmp_path: Path, seed: int):
    chance = random.Random(seed)
    service.config["manager"] |= {"harvesting": chance.choice(["even", "fair", "low_impact"])}
    service.start()
    solvers: dict[str, Path] = {}
    rigid: list[Path] = []
    with service.client() as client:
        for step in range(25):
            end = tmp_path / f"end{step}"
            what = chance.random()
            if what < 0.3:
                nodes = chance.randint(1, SLOTS)
                solvers[solver(client, end, nodes, chance.randint(1, nodes))] = end
            elif what < 0.5:
                client.submit(RIGID, [str(end)], nodes=chance.randint(1, SLOTS - 1), time_limit=600)
                rigid.append(end)
            elif what < 0.7:
                chance.choice([*rigid, *solvers.values(), end]).touch()
            else:
                service.restart()
        for end in [*rigid, *solvers.values()]:
            end.touch()
        wait_until(lambda: not client.jobs(), "all have ended")
        assert {client.job(job).state for job in solvers} <= {"completed"}, [said(service, job) for job in solvers]
    assert all("the same as a serial solve" in said(service, job) for job in solvers)
    assert not service.faults()
