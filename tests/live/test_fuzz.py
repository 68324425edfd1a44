"""Hostile requests to both services of a domain that works: it goes on as if nothing had been."""

import json
import os
import sqlite3
import subprocess
import sys
from collections import Counter
from itertools import count
from pathlib import Path

import pytest

from cosched.client import Client, ClientError, Job
from cosched.core.job import JobState
from cosched.service.store.schema import FIRST_FINAL_STATE
from tests.live.other_users import a_public_folder
from tests.live.services import Pair, Service, free_port, noted, script_that_notes, wait_until, whys
from tests.live.workloads import are_together
from tests.tiers import SEED, soaked

ATTACKS = (2011, 4_000), (SEED, 100_000)  # seed and number of requests: in the short tier, and in soak
PATIENCE = 3600  # seconds; a safety net, not a measure
HOSTILE = "nobody"
NODES = 8
MORE_DESCRIPTORS, MORE_MEMORY = 8, 48 << 20  # bytes; that of ended jobs is kept for their mates' questions
ANSWERS = {  # those that the proto files list, and a caller's own impatience
    *("OK", "INVALID_ARGUMENT", "NOT_FOUND", "FAILED_PRECONDITION", "PERMISSION_DENIED", "OUT_OF_RANGE"),
    *("RESOURCE_EXHAUSTED", "UNAVAILABLE", "UNIMPLEMENTED", "DEADLINE_EXCEEDED", "CANCELLED"),
}


@pytest.fixture
def pair():
    """In a folder that everybody can enter."""
    with a_public_folder() as folder, Pair(folder, scheme="hold", release_interval=1) as made:
        made.a.add_peer("z", f"127.0.0.1:{free_port()}")  # who is never there
        for service in made.both:
            service.config["manager"]["slots"] = NODES
            service.config["domain"] |= {"max_jobs_per_user": 40, "log_level": "info"}
        yield made.start()


@pytest.fixture
def work(pair):
    with pair.a.client() as a, pair.b.client() as b:
        yield Work(pair.folder, a, b)


@pytest.fixture
def attack(pair):
    """Begins an attack on a, with this seed and so many requests."""
    attackers = []

    def begin(seed: int, requests: int) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.live.fuzzing", HOSTILE, pair.a.address, pair.a.socket]
        command += [str(pair.folder), str(seed), str(requests)]
        attackers.append(subprocess.Popen(command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True))
        return attackers[-1]

    yield begin
    for attacker in attackers:
        attacker.kill()
        attacker.communicate()


def answers_of(attacker: subprocess.Popen[str]) -> Counter[str]:
    """How often which answer came, after the attack's end."""
    said, _ = attacker.communicate(timeout=PATIENCE)
    assert attacker.returncode == 0
    return Counter(json.loads(said))


def memory(service: Service) -> int:
    """Its resident bytes."""
    return int(Path(f"/proc/{service.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def descriptors(service: Service) -> int:
    return len(os.listdir(f"/proc/{service.process.pid}/fd"))


class Work:
    """Real pairs of jobs, meanwhile."""

    def __init__(self, folder: Path, *clients: Client) -> None:
        self._script, self._clients = script_that_notes(folder, 0.5), clients
        self._jobs: list[tuple[Client, Job]] = []

    def submit(self, name: str) -> None:
        """A job for each domain."""
        for client, peer in zip(self._clients, "ba", strict=True):
            self._jobs.append((client, client.submit(self._script, pair=name, pair_domain=peer)))

    def is_done(self) -> bool:
        """Whether the last pair has ended."""
        return all(client.job(job).state in ("completed", "failed", "cancelled") for client, job in self._jobs[-2:])


@pytest.mark.parametrize("of", soaked(ATTACKS, 1), ids=str)
def test_hostile_requests_change_nothing_that_they_may_not(pair, work, attack, of):
    seed, requests = of
    warm_up = requests // 5
    answers = answers_of(attack(seed, warm_up))
    before = memory(pair.a), descriptors(pair.a)
    attacker = attack(seed + 1, requests - warm_up)
    for number in count():
        work.submit(f"real-{number}")
        wait_until(lambda: attacker.poll() is not None or work.is_done(), "a pair has run", PATIENCE)
        if attacker.poll() is not None:
            break
    answers += answers_of(attacker)
    assert answers.total() == requests
    assert {answer.split()[1] for answer in answers} <= ANSWERS, answers
    wait_until(lambda: descriptors(pair.a) <= before[1] + MORE_DESCRIPTORS, "its connections are closed")
    assert memory(pair.a) <= before[0] + MORE_MEMORY
    assert not pair.faults()
    cancel_all(pair.a, HOSTILE)
    wait_until(work.is_done, "the real jobs have run")
    assert max(Counter(start[:2] for start in noted(pair.folder)).values()) == 1
    pair.a.restart()
    wait_until(lambda: see_each_other(pair), "each answers the other")
    assert [illegal(service) for service in pair.both] == [[], []]
    with pair.a.client() as a, pair.b.client() as b:
        one = a.submit("#!/bin/true\n", pair="last", pair_domain="b")
        other = b.submit("#!/bin/true\n", pair="last", pair_domain="a")
        wait_until(lambda: a.job(one).state == b.job(other).state == "completed", "the last pair has run")
    found = whys(pair.a, one) + whys(pair.b, other)
    assert are_together(found), found


def cancel_all(service: Service, owner: str) -> None:
    with service.client() as client:
        for job in client.jobs(owner=owner):
            try:
                client.cancel(job)
            except ClientError:  # it has run meanwhile, on what those before it left free
                assert client.job(job).ended_at is not None
        wait_until(lambda: not client.jobs(owner=owner), "they have ended")


def see_each_other(pair: Pair) -> bool:
    with pair.a.client() as a, pair.b.client() as b:
        peers = [*a.domain().peers, *b.domain().peers]
    return all(peer.state == "reachable" for peer in peers if peer.name != "z")


# Rules of a database of jobs; each finds those that break it
RULES = {
    "an unknown state": f"SELECT id FROM jobs WHERE state NOT BETWEEN {JobState.QUEUED} AND {JobState.CANCELLED}",
    "an end if and only if it is final": f"""
        SELECT id FROM jobs WHERE (ended_at IS NOT NULL) != (state >= {FIRST_FINAL_STATE})""",
    "a running job that has not started": f"""
        SELECT id FROM jobs WHERE state = {JobState.RUNNING} AND started_at IS NULL""",
    "times out of order": "SELECT id FROM jobs WHERE started_at < submitted_at OR ended_at < started_at",
    "a mate here": """
        SELECT jobs.id FROM jobs, json_each(mates) AS mate
        WHERE mate.key = (SELECT value FROM meta WHERE key = 'store.domain')""",
    "a name without a mate": "SELECT id FROM jobs WHERE mates IS NULL AND (is_pair OR group_name IS NOT NULL)",
    "a pair of more than two": """
        SELECT jobs.id FROM jobs, json_each(mates) WHERE is_pair GROUP BY jobs.id HAVING count(*) > 1""",
    "two live jobs with one mate": f"""
        SELECT max(jobs.id) FROM jobs, json_each(mates) AS mate
        WHERE mate.value IS NOT NULL AND state < {FIRST_FINAL_STATE}
        GROUP BY mate.key, mate.value HAVING count(*) > 1""",
    "two live jobs with one pair name": f"""
        SELECT max(jobs.id) FROM jobs, json_each(mates) AS mate
        WHERE is_pair AND group_name IS NOT NULL AND state < {FIRST_FINAL_STATE}
        GROUP BY mate.key, group_name HAVING count(*) > 1""",
    "started twice": "SELECT job FROM events WHERE what = 'started' GROUP BY job HAVING count(*) > 1",
    "no nodes, or more than there are": f"SELECT id FROM jobs WHERE nodes NOT BETWEEN 1 AND {NODES}",
    "more nodes in use than there are": f"""
        SELECT sum(nodes) FROM jobs WHERE state IN ({JobState.READY}, {JobState.HOLDING}, {JobState.RUNNING})
        HAVING sum(nodes) > {NODES}""",
    "no script": f"SELECT id FROM jobs WHERE state < {FIRST_FINAL_STATE} AND id NOT IN (SELECT job FROM scripts)",
}


def illegal(service: Service) -> list[tuple[str, str]]:
    """The rules that the service's database breaks, and by which jobs."""
    with sqlite3.connect(service.folder / "state.db") as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        found = {rule: [job for (job,) in database.execute(sql)] for rule, sql in RULES.items()}
    return [(rule, jobs) for rule, jobs in found.items() if jobs]
