"""Three services whose jobs start apart, as the windows of their group say; also if they are killed in between."""

import time

import pytest

from tests.live.services import Federation, noted, script_that_notes, wait_until
from tests.live.test_groups import DOMAINS
from tests.tiers import soaked

LATE = 1.5  # seconds; also the most by which rounding makes a start too early


def parted(federation: Federation, offset: int) -> None:
    """Submit b's job, which is to start so many seconds after a's; c's within them."""
    script = federation.folder / "job.sh"
    script.write_text(script_that_notes(federation.folder))
    words = {
        "a": ["--with", "b,c", "--window", f"b:{offset}..{offset}", "--window", f"c:0..{offset}"],
        "b": ["--with", "a,c", "--start-after", f"a:+{offset}s", "--window", f"c:0..{offset}"],
        "c": ["--with", "a,b", "--window", f"c:0..{offset}", "--window", f"b:+{offset}"],
    }
    for service in federation.services:
        submitted = service.run("submit", "--time", "1", "--group", "run7", *words[service.name], str(script))
        assert submitted.returncode == 0, submitted.stderr


def starts(federation: Federation) -> dict[str, float]:
    """When the job of each domain has started; each once."""
    found = [(domain, at) for domain, _, _, at in noted(federation.folder)]
    assert len(found) == len(dict(found))
    return dict(found)


def check_apart(federation: Federation, offset: int, patience: float) -> None:
    wait_until(lambda: len(starts(federation)) == len(DOMAINS), "all start")
    found = starts(federation)
    assert -LATE < found["b"] - found["a"] - offset < LATE + patience
    assert -LATE < found["c"] - found["a"] < offset + LATE


@pytest.mark.parametrize("killed", soaked(["", "abc", "a", "b", "c"], 1))
def test_jobs_start_apart_as_their_windows_say(make_federation, killed):
    """Also if services are killed after the first start."""
    federation = make_federation(DOMAINS, scheme="meet", peer_grace="2m").start()
    offset = 8 if killed else 3
    parted(federation, offset)
    wait_until(lambda: "a" in starts(federation), "a starts")
    if not killed:
        told = federation.services[1].run("show", "1").stdout
        assert f"after the others start b +0:0{offset}, c +0:00 to +0:0{offset}" in told
        assert "its group has begun" in told
    time.sleep(1 if killed else 0)
    services = [service for service in federation.services if service.name in killed]
    for service in services:
        service.kill()
    for service in services:
        service.start()
    check_apart(federation, offset, 20 if killed else 0)
    assert [service.faults() for service in federation.services] == [[], [], []]


@pytest.mark.soak
def test_windows_that_cannot_be_are_refused_at_submission(make_federation):
    federation = make_federation(DOMAINS, scheme="meet")
    federation.services[2].config["coscheduling"]["scheme"] = "hold"
    a, b, c = federation.start().services
    script = federation.folder / "job.sh"
    script.write_text(script_that_notes(federation.folder))

    def said(service, *words: str) -> str:
        return service.run("submit", "--group", "run7", *words, str(script)).stderr

    assert "c gives no slots, which jobs need that start apart" in said(a, "--with", "b,c", "--within", "5m")
    assert "c gives no slots, which jobs need that start apart" in said(c, "--with", "a", "--start-after", "a:1m")
    a.run("submit", "--group", "run7", "--with", "b", "--window", "b:10", str(script))
    other = "the job on a gives other windows: all jobs of a group give the same ones"
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
    found = starts(federation)
    assert 3 - LATE < found["b"] - found["a"] < 3 + LATE
    (federation.folder / "starts").unlink()
    a.run("submit", "--group=run8", "--to=b:long.sh", "--to=a:after.sh", cwd=tmp_path)
    wait_until(lambda: len(starts(federation)) == 2, "both start")
    assert 2 - LATE < starts(federation)["a"] - starts(federation)["b"] < 2 + LATE
