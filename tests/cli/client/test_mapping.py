"""`cosched map`: what it says of nodes that cannot be mapped; a job's own and its mates' are those that it maps to."""

import pytest

from cosched.cli.client.mapping import mapped
from cosched.cli.output.failures import Failure
from cosched.cli.selection import known
from cosched.client import Client, FoundMate
from cosched.planning.problem import problem_of
from cosched.v1 import rendezvous_pb2
from cosched.v1.coscheduling_pb2 import MATE_STATUS_RUNNING
from cosched.words.errors import InputError

LIST = (
    "".join(
        f'[[machine]]\nname = "{node}.{domain}"\nspeed = {speed}\nmemory = 1\ndomain = "{domain}"\nnode = "{node}"\n'
        for domain, node, speed in (("a", "n1", 100), ("a", "n2", 200), ("b", "n1", 400))
    )
    + '[[machine]]\nname = "dim.b"\nmemory = 1\ndomain = "b"\nnode = "n2"\n'
)
LINKS = "".join(
    f'[[link]]\nfrom = "{one}"\nto = "{to}"\nbandwidth = 1000\nlatency = 0\n' for one, to in ("aa", "ab", "bb")
)


@pytest.fixture
def machines(tmp_path):
    (tmp_path / "grid.toml").write_text(LIST + LINKS)
    return lambda size: known(str(tmp_path / "grid.toml"), problem_of("jacobi", size), "static")


def test_all_nodes_that_were_given_have_a_part_as_they_are_fast(machines):
    chosen = mapped(machines(350), {"a": ["n2", "n1"], "b": ["n1"]})
    assert [machine.name for machine in chosen.machines] == ["n2.a", "n1.a", "n1.b"]
    assert chosen.shares == pytest.approx((100, 50, 200), abs=3)
    assert mapped(machines(100), {"a": ["n1"]}).shares == (100,)


@pytest.mark.parametrize(
    ("given", "error", "reason"),
    [
        ({"a": ["n7"]}, InputError, "grid.toml: no machine of a is called n7 there (node)"),
        ({"b": ["n2"]}, InputError, "grid.toml:machine.'dim.b': the job has it, but its speed is not known"),
        ({"a": ["n1"]}, Failure, "jacobi has no map to the nodes that were given: too little memory: for "),
    ],
)
def test_what_cannot_be_mapped_is_told_in_one_line(machines, given, error, reason):
    with pytest.raises(error) as caught:
        mapped(machines(1000), given)
    assert reason in str(caught.value)


ASKED = ("map", "--machines", "grid.toml", "--application", "jacobi", "--size", "350")


def test_a_job_is_told_its_part(machines, cosched, domain, tmp_path, monkeypatch):
    machines(1)
    monkeypatch.chdir(tmp_path)
    assert "not inside a job" in cosched(*ASKED, exit_code=2).stderr
    monkeypatch.setenv("COSCHED_JOB_ID", "17")
    monkeypatch.setenv("COSCHED_NODELIST", "n[1-2]")
    domain.domain.name = "a"
    mate = rendezvous_pb2.FoundMate(job={"domain": "b", "job_id": "3"}, status=MATE_STATUS_RUNNING)
    mate.place.nodelist, mate.place.host = "n1", "h"
    told = []
    monkeypatch.setattr(Client, "find_mates", lambda _, *job, **place: told.append((job, place)) or [FoundMate(mate)])
    said = cosched(*ASKED).stdout.splitlines()
    assert said[0] == "export MAP_MACHINES=n2.a:n1.a"
    assert said[2:] == ["export MAP_BEFORE=0", "export MAP_SIZE=350"]
    assert [(job, place["nodelist"]) for job, place in told] == [(("17",), "n[1-2]")]
    mate.place.nodelist = ""
    assert cosched(*ASKED, exit_code=1).stderr == "cosched: it is not known which nodes the job on b has\n"
