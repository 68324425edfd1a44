"""`cosched submit --select`: jobs of an application on the machines of real services, and what these tell of them."""

import json

import pytest
from click.testing import CliRunner

from cosched.cli.client import proposing, reselecting
from cosched.cli.client.reselecting import were_dropped
from cosched.cli.main import main
from cosched.client import Client, ClientError
from tests.live.services import COMMAND, wait_until

NOTES = """#!/bin/sh
echo "$COSCHED_DOMAIN ${COSCHED_PAIR:-alone} $MAP_MACHINES $MAP_SHARES $MAP_BEFORE" >> FOLDER/maps
"""
MAPS = """#!/bin/sh
map=$(COMMAND map --machines unlike.toml --application jacobi --size 1200) || exit 1
eval "$map"
echo "$COSCHED_DOMAIN $COSCHED_NODELIST $MAP_MACHINES $MAP_SHARES $MAP_BEFORE $MAP_SIZE" >> maps
until [ "$(wc -l < maps)" = 2 ]; do sleep 0.1; done  # a place is told while its job runs
"""
SPEEDS = {"a": 400, "b": 800}


LINK = '[[link]]\nfrom = "{}"\nto = "{}"\nbandwidth = {}\nlatency = 0\n'
OF_A = "".join(
    f'[[machine]]\nname = "n{n}.a.org"\nspeed = 400\ninstalled = 200\nmemory = 100\n' for n in range(2)
) + LINK.format("a.org", "a.org", 1000)


@pytest.fixture
def pair(make_pair):
    """Domains a and b, each the other's peer; b is faster. a tells of its machines."""
    made = make_pair(scheme="hold")
    (made.a.folder / "machines.toml").write_text(OF_A)
    made.a.config["machines"] = {"file": "machines.toml"}
    made.start()
    made.a.environment["COSCHED_DOMAINS"] = ",".join(f"{each.name}={each.socket}" for each in made.both)
    return made.both


def busy(client: Client, nodes: int = 1) -> str:
    """A job that runs, and does not end by itself."""
    job = client.submit("#!/bin/sh\nexec sleep 1000\n", nodes=nodes, time_limit=1000).id
    wait_until(lambda: client.job(job).state == "running")
    return job


def grid(mbits: float) -> str:
    machines = "".join(
        f'[[machine]]\nname = "n{number}.{name}.org"\nspeed = {speed}\nmemory = 100\ndomain = "{name}"\n'
        for name, speed in SPEEDS.items()
        for number in range(2)
    )
    return machines + links(mbits)


def links(mbits: float) -> str:
    ends = (("a.org", "a.org", 1000), ("b.org", "b.org", 1000), ("a.org", "b.org", mbits))
    return "".join(LINK.format(*link) for link in ends)


def test_what_is_chosen_in_one_domain_is_a_job_and_in_two_they_start_together(pair, tmp_path):
    (tmp_path / "job.sh").write_text(NOTES.replace("FOLDER", str(tmp_path)))
    (tmp_path / "slow.toml").write_text(grid(0.01))
    (tmp_path / "fast.toml").write_text(grid(1000))
    asked = ("--application=jacobi", "--size=1200", "job.sh")

    alone = pair[0].run("submit", "--select=slow.toml", *asked, cwd=tmp_path)
    assert alone.stdout == "Submitted job 1 to b\n", alone.stderr
    assert alone.stderr.startswith("jacobi, size 1,200: ")
    assert pair[1].run("wait", "1").returncode == 0
    both = pair[0].run("submit", "--select=fast.toml", *asked, cwd=tmp_path)
    assert both.stdout == "Submitted job 1 to a\nSubmitted job 2 to b\n", both.stderr
    assert pair[0].run("wait", "1").returncode == pair[1].run("wait", "2").returncode == 0

    first, *together = [line.split() for line in (tmp_path / "maps").read_text().splitlines()]
    assert first == ["b", "alone", "n0.b.org:n1.b.org", "600:600", "0"]
    of_a, of_b = sorted(together)
    assert of_a[1] == of_b[1]
    assert of_a[1].startswith("select-")
    assert [of_a[2], of_b[2]] == ["n0.a.org:n1.a.org", "n0.b.org:n1.b.org"]
    rows = [[int(share) for share in shares.split(":")] for shares in (of_a[3], of_b[3])]
    assert sum(map(sum, rows)) == 1200
    assert [of_a[4], of_b[4]] == ["0", str(sum(rows[0]))]
    assert sum(rows[1]) == pytest.approx(800, abs=20)  # b is twice as fast


def test_machines_that_are_busy_are_not_chosen_if_domains_are_asked(pair, tmp_path):
    (tmp_path / "job.sh").write_text(NOTES.replace("FOLDER", str(tmp_path)))
    (tmp_path / "free.toml").write_text(grid(1000) + '[[source]]\nkind = "domains"\n')
    asked = ("--select=free.toml", "--application=jacobi", "--size=1200")
    with pair[1].client() as client:
        busy(client, 3)  # of 4: one of the two that are listed is free
        one = pair[0].run("submit", *asked, "job.sh", cwd=tmp_path)
        assert one.stdout == "Submitted job 1 to a\nSubmitted job 2 to b\n", one.stderr
        assert pair[1].run("wait", "2").returncode == 0
        (tmp_path / "unasked.toml").write_text(grid(1000))
        proposed = pair[0].run("submit", "--select=unasked.toml", *asked[1:], "--time=1", "job.sh", cwd=tmp_path)
        assert proposed.stdout == "Submitted job 2 to a\nSubmitted job 3 to b\n", proposed.stderr
        assert proposed.stderr.startswith("b cannot start 2 nodes now: ")
        assert pair[1].run("wait", "3").returncode == 0
        busy(client)
        alone = pair[0].run("submit", *asked, "job.sh", cwd=tmp_path)
        assert alone.stdout == "Submitted job 3 to a\n", alone.stderr
        assert pair[0].run("wait", "3").returncode == 0
        pair[1].stop()
    maps = sorted(line.split()[2] for line in (tmp_path / "maps").read_text().splitlines())
    assert maps == [*3 * ["n0.a.org:n1.a.org"], "n0.b.org", "n0.b.org"]
    told = pair[0].run("submit", *asked, "--strategy=dynamic", "job.sh", cwd=tmp_path)
    assert told.stderr.startswith("source 1 (domains): b: ")


@pytest.mark.soak
def test_nodes_that_are_given_by_their_number_are_mapped_again_by_the_jobs(pair, tmp_path):
    """Both have four nodes of different speeds, and give any of them; the jobs know which, and share one new map."""
    machines = "".join(
        f'[[machine]]\nname = "n{n}.{name}.org"\nspeed = {speed + 100 * n}\nmemory = 100\n'
        f'domain = "{name}"\nnode = "slot{n}"\n'
        for name, speed in SPEEDS.items()
        for n in range(4)
    )
    (tmp_path / "unlike.toml").write_text(machines + links(1000))
    (tmp_path / "job.sh").write_text(MAPS.replace("COMMAND", COMMAND[0]))
    with pair[0].client() as client, pair[1].client() as other:
        assert client.domain().named_nodes is False
        busy(client, 2)  # slot0 and slot1
        asked = ("--application=jacobi", "--size=1200", "--time=1", "job.sh")
        ran = pair[0].run("submit", "--select=unlike.toml", *asked, cwd=tmp_path)
        assert "a gives nodes by their number: its job must map the data again (cosched map)\n" in ran.stderr
        assert ran.stdout == "Submitted job 1 to b\nSubmitted job 2 to a\n"
        assert client.wait("2").state == other.wait("1").state == "completed"
    of_a, of_b = sorted(line.split() for line in (tmp_path / "maps").read_text().splitlines())
    assert of_a[:3] == ["a", "slot2,slot3", "n3.a.org:n2.a.org"]
    assert of_b[:3] == ["b", "slot0,slot1,slot2,slot3", "n3.b.org:n2.b.org:n1.b.org:n0.b.org"]
    shares = [[int(share) for share in each[3].split(":")] for each in (of_a, of_b)]
    assert shares == [pytest.approx([165, 141], abs=3), pytest.approx([259, 235, 212, 188], abs=3)]  # as their speeds
    assert sum(map(sum, shares)) == 1200
    assert [each[4:] for each in (of_a, of_b)] == [[str(sum(shares[1])), "1200"], ["0", "1200"]]


OF_SLOTS = '[[machine]]\nname = "n{n}.a.org"\nspeed = {speed}\nmemory = 10\nnode = "slot{n}"\n'
TOLD = """#!/bin/sh
echo "$COSCHED_DOMAIN $COSCHED_NODELIST $MAP_MACHINES $MAP_SHARES $MAP_BEFORE $MAP_SIZE" >> FOLDER/maps
"""


def test_a_job_of_a_pair_gets_machines_at_its_turn_and_holds_these(pair, tmp_path):
    """a's fastest node is busy at the job's turn: it holds the next two, though that one is free before the start."""
    a, b = pair
    slots = [OF_SLOTS.format(n=n, speed=speed) for n, speed in enumerate((900, 400, 600, 700))]
    (a.folder / "machines.toml").write_text("".join(slots) + LINK.format("a.org", "a.org", 1000))
    a.stop()
    a.start()
    (tmp_path / "job.sh").write_text(TOLD.replace("FOLDER", str(tmp_path)))
    asked = ("submit", "--application=jacobi", "--size=1200", "--pair=p", "--parsable", "job.sh")
    with a.client() as client:
        assert client.domain().maps_applications
        first = busy(client)
        few = a.run(*asked, cwd=tmp_path)
        assert few.stderr.startswith("cosched: jacobi, size 1,200, has no map to the smallest 1 node here"), few.stderr
        job = a.run(*asked[:1], "-N2", *asked[1:], cwd=tmp_path).stdout.strip()
        wait_until(lambda: client.job(job).state == "holding")
        groups = {group.state: group.names for group in client.nodes()}
        assert groups == {"busy": ("slot0",), "held": ("slot3", "slot2"), "idle": ("slot1",)}
        client.cancel(first)
        wait_until(lambda: client.job(first).state == "cancelled")
        a.restart()
        mate = b.run("submit", "--pair=p", "--parsable", "job.sh", cwd=tmp_path).stdout.strip()
        assert client.wait(job).state == "completed"
    assert b.run("wait", mate).returncode == 0
    told = {line.split()[0]: line.split()[1:] for line in (tmp_path / "maps").read_text().splitlines()}
    assert told["a"] == ["slot3,slot2", "n3.a.org:n2.a.org", "646:554", "0", "1200"]  # as their speeds, 700 and 600
    assert told["b"] == ["slot0"]

    (tmp_path / "maps").unlink()
    (tmp_path / "told.toml").write_text('[[domain]]\nname = "a"\n')
    chosen = a.run("submit", "--select=told.toml", *asked[1:3], "--pair=q", "--parsable", "job.sh", cwd=tmp_path)
    assert b.run("submit", "--pair=q", "job.sh", cwd=tmp_path).returncode == 0
    assert a.run("wait", chosen.stdout.strip()).returncode == 0, chosen.stderr
    [of_a] = [line.split() for line in (tmp_path / "maps").read_text().splitlines() if line.startswith("a ")]
    nodes = [name.replace("slot", "n") + ".a.org" for name in of_a[1].split(",")]
    assert of_a[2].split(":") == nodes  # in the order of the map
    assert len(nodes) == 4
    with b.client() as client, pytest.raises(ClientError) as refused:
        client.submit("#!/bin/sh\n", columns={"application": "jacobi", "problem_size": "1200"})
    assert refused.value.reason == "NO_MAPS"


SERIES = '[[source]]\nkind = "series"\nfile = "nws.csv"\n'


def test_what_gets_slower_before_its_start_is_dropped_and_chosen_anew(pair, tmp_path, monkeypatch):
    """It waits in b, whose machines lose three quarters of their processors: a is faster then. Nothing is stopped."""
    (tmp_path / "job.sh").write_text(NOTES.replace("FOLDER", str(tmp_path)))
    (tmp_path / "nws.toml").write_text(grid(0.01) + SERIES)
    series = tmp_path / "nws.csv"
    series.write_text("time,kind,of,to,value\n")
    monkeypatch.setattr(reselecting, "PAUSE", 0.0)
    monkeypatch.setenv("COSCHED_DOMAINS", pair[0].environment["COSCHED_DOMAINS"])
    monkeypatch.chdir(tmp_path)
    asked = ["submit", "--select=nws.toml", "--application=jacobi", "--size=1200", "--strategy=dynamic"]
    with pair[1].client() as client:
        first, looks = busy(client, 4), []

        def look(jobs, selection, ratio, ask):
            looks.append(jobs)
            series.write_text(series.read_text() + "".join(f"9,cpu,n{n}.b.org,,0.25\n" for n in range(2)))
            return were_dropped(jobs, selection, ratio, ask)

        monkeypatch.setattr(proposing, "were_dropped", look)
        ran = CliRunner().invoke(main, [*asked, "--max-proposals=1", "--reselect=1.25", "job.sh"])
        assert ran.stdout == "Submitted job 2 to b\nSubmitted job 1 to a\n", ran.stderr
        assert looks == [[("b", "2")]]
        assert "b:2 was dropped: it would take 3.99 times as long\n" in ran.stderr
        assert client.job("2").state == "cancelled"
        with pytest.raises(ClientError) as refused:
            client.cancel(first, unless_started=True)
        assert refused.value.reason == "JOB_STATE"
        assert client.job(first).state == "running"
    assert pair[0].run("wait", "1").returncode == 0


def test_a_domain_tells_of_its_machines_and_when_they_would_start_a_job(pair, tmp_path):
    """a has no name for its nodes: the first machines are idle if so many nodes are."""
    path = tmp_path / "told.toml"
    path.write_text('[[domain]]\nname = "a"\n')
    asked = ("select", "--machines", str(path), "--application=jacobi", "--size=1200", "--json")
    with pair[0].client() as client:
        told = client.machines()
        machines = [(m.name, m.segment, m.node, m.state, m.speed, m.cpu, m.memory) for m in told.machines]
        assert machines == [(f"n{n}.a.org", "a.org", None, "idle", 400, 1, 100) for n in range(2)]
        assert [m.memory for m in client.machines(lasting=True).machines] == [180, 180]
        [link] = told.links
        assert (link.start, link.to, link.bandwidth, link.latency) == ("a.org", "a.org", 1000, 0)
        assert told.problems == ()
        found = pair[0].run(*asked)
        assert json.loads(found.stdout)["machines"] == ["n0.a.org", "n1.a.org"], found.stderr

        assert client.quote_start(4).wait == 0
        busy(client, 3)
        assert client.quote_start(1, time_limit=60).wait == 0
        assert 0 < client.quote_start(2, time_limit=60).wait <= 1000
        with pytest.raises(ClientError) as refused:
            client.quote_start(5)
        assert refused.value.reason == "JOB_TOO_LARGE"
        with pytest.raises(ClientError) as refused:
            client.quote_start(1, columns={"nodelist": "n0"})
        assert refused.value.reason == "NO_NAMED_NODES"
        assert [m.state for m in client.machines().machines] == ["idle", "busy"]
        assert json.loads(pair[0].run(*asked).stdout)["machines"] == ["n0.a.org"]
        assert json.loads(pair[0].run(*asked, "--strategy=static").stdout)["machines"] == ["n0.a.org", "n1.a.org"]
    with pair[1].client() as client, pytest.raises(ClientError) as refused:
        client.machines()
    assert refused.value.reason == "NO_MACHINES"
