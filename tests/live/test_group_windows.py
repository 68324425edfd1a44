"""Three services whose jobs start apart, as the windows of their group say; also if they are killed in between."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from cosched.cli.client.wording import local_time
from tests.live.services import Federation, Service, noted, restart_all, script_that_notes, wait_until
from tests.live.test_groups import DOMAINS
from tests.tiers import soaked

ROUNDING = 1  # second: instants are whole ones


def parted(federation: Federation, offset: int) -> None:
    """Submit b's job, which is to start so many seconds after a's; c's within them."""
    words = {
        "a": ["--window", f"b:{offset}..{offset}", "--window", f"c:0..{offset}"],
        "b": ["--start-after", f"a:+{offset}s", "--window", f"c:0..{offset}"],
        "c": ["--window", f"c:0..{offset}", "--window", f"b:+{offset}"],
    }
    for service in federation.services:
        submit(service, "--time", "1", *words[service.name])


def submit(service: Service, *words: str) -> None:
    """Submit a member of a group of all domains."""
    others = ",".join(name for name in DOMAINS if name != service.name)
    script = script_that_notes(service.folder.parent)
    submitted = service.run("submit", "--group", "run7", "--with", others, *words, "-", text=script)
    assert submitted.returncode == 0, submitted.stderr


def starts(federation: Federation) -> dict[str, float]:
    """When the job of each domain has started; each once."""
    found = [(domain, at) for domain, _, _, at in noted(federation.folder)]
    assert len(found) == len(dict(found))
    return dict(found)


def slot(service: Service, job: str = "1") -> int:
    """The slot at which a job has started, or when it did without one."""
    with service.client() as client:
        began = int(client.job(job).started_at.timestamp())
        told = client.events(after=0, jobs=[job], until_now=True)
        return max((int(e.detail["slot"]) for e in told if "slot" in e.detail), default=began)


def check_apart(federation: Federation, offset: int) -> None:
    """Whatever the machine's pace, b's job is to start so long after a's, and nobody's starts before its slot."""
    wait_until(lambda: len(starts(federation)) == len(DOMAINS), "all start")
    found, slots = starts(federation), {service.name: slot(service) for service in federation.services}
    assert slots["b"] == slots["a"] + offset
    assert 0 <= slots["c"] - slots["a"] <= offset
    assert all(found[name] >= slots[name] - ROUNDING for name in found)


@pytest.mark.parametrize("killed", soaked(["", "abc", "a", "b", "c"], 1))
def test_jobs_start_apart_as_their_windows_say(make_federation, killed):
    """Also if services are killed after the first start."""
    federation = make_federation(DOMAINS, scheme="meet", peer_grace="2m").start()
    offset = 8 if killed else 3
    parted(federation, offset)
    wait_until(lambda: "a" in starts(federation), "a starts")
    restart_all([service for service in federation.services if service.name in killed])
    check_apart(federation, offset)
    told = federation.services[1].run("show", "1").stdout
    assert f"after the others start b +0:0{offset}, c +0:00 to +0:0{offset}" in told
    assert killed or "its group has begun" in told
    assert not federation.faults()


@pytest.mark.soak
@pytest.mark.parametrize("killed", soaked(["", "abc"], 1))
def test_jobs_start_at_the_instant_that_was_given(make_federation, killed):
    federation = make_federation(DOMAINS, scheme="meet", peer_grace="2m").start()
    at = from_now(30)
    for service in federation.services:
        submit(service, "--at", at.isoformat())
    a = federation.services[0]
    wait_until(lambda: "slot" in a.run("show", "1").stdout, "the slot is agreed on")
    assert f"starts at {local_time(at)}" in a.run("show", "1").stdout
    if killed:
        restart_all(federation.services)
    wait_until(lambda: len(starts(federation)) == len(DOMAINS), "all start")
    assert min(starts(federation).values()) >= at.timestamp() - ROUNDING
    assert not federation.faults()


def from_now(seconds: int) -> datetime:
    return datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=seconds)


@pytest.mark.soak
def test_who_misses_the_instant_waits_for_its_owner(make_federation):
    """c's member cannot start in time, since another job has its nodes; nobody starts by surprise."""
    federation = make_federation(DOMAINS, scheme="meet").start()
    a, b, c = federation.services
    with c.client() as client:
        client.submit("#!/bin/sh\nsleep 600\n", nodes=4, time_limit=600)
    at = from_now(20).isoformat()
    for service in federation.services:
        submit(service, "--at", at)
    passed = "(InstantPassed: the instant that its group was given has passed"
    wait_until(lambda: passed in a.run("show", "1").stdout, "it has passed")
    assert noted(federation.folder) == []
    assert "cosched unlink 1 lets it start alone" in a.run("explain", "1").stdout
    assert a.run("unlink", "--yes", "1").returncode == 0
    wait_until(lambda: len(noted(federation.folder)) == 1, "a's job starts alone")
    past = from_now(-60).isoformat()
    refused = b.run("submit", "--group", "run8", "--with", "a", "--at", past, "-", text="#!/bin/sh\n")
    assert re.search(r"--at: [-0-9]+ [:0-9]+ UTC is 1 min ago: give an instant to come", refused.stderr)


@pytest.mark.soak
def test_windows_that_cannot_be_are_refused_at_submission(make_federation):
    federation = make_federation(DOMAINS, scheme="meet")
    federation.services[2].config["coscheduling"]["scheme"] = "hold"
    a, b, c = federation.start().services
    script = script_that_notes(federation.folder)

    def said(service, *words: str) -> str:
        return service.run("submit", "--group", "run7", *words, "-", text=script).stderr

    assert "slots are off on c: --window and --at need them" in said(a, "--with", "b,c", "--within", "5m")
    assert "slots are off on c: --window and --at need them" in said(c, "--with", "a", "--start-after", "a:1m")
    assert "has other" not in said(a, "--with", "b", "--window", "b:10")
    other = "the job on a has other --window or --at than this one: all jobs of a group give the same"
    assert other in said(b, "--with", "a", "--start-after", "a:20")
    assert noted(federation.folder) == []


@pytest.mark.soak
def test_jobs_that_are_submitted_together_start_apart(make_federation, tmp_path):
    """So that they end together by their time limits; and as the script of one of them has it."""
    federation = make_federation(DOMAINS, scheme="meet").start()
    a = federation.services[0]
    a.environment["COSCHED_DOMAINS"] = ",".join(f"{service.name}={service.socket}" for service in federation.services)
    script = script_that_notes(federation.folder)
    for name, options in {"long": "--time=0:07", "short": "--time=0:04", "after": "--start-after=b:+2s"}.items():
        (tmp_path / f"{name}.sh").write_text(script.replace("\n", f"\n#COSCHED {options}\n", 1))
    to = ["--to=a:long.sh", "--to=b:short.sh", "--to=c:short.sh"]
    done = a.run("submit", "--group=run7", *to, "--end-together", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    wait_until(lambda: len(starts(federation)) == len(DOMAINS), "all start")
    b = federation.services[1]
    assert slot(b) == slot(a) + 3
    (federation.folder / "starts").unlink()
    a.run("submit", "--group=run8", "--to=b:long.sh", "--to=a:after.sh", cwd=tmp_path)
    wait_until(lambda: len(starts(federation)) == 2, "both start")
    assert slot(a, "2") == slot(b, "2") + 2
