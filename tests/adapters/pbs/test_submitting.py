"""`cosched submit` runs qsub: which options it passes, and what it makes of qsub's words."""

from pathlib import Path
from typing import Any

import pytest

from cosched.cli.client.node_counts import NodeRange
from cosched.words.errors import InputError
from cosched_adapters.batch_system import Accepted
from cosched_adapters.manager import ManagerError
from cosched_adapters.pbs.submitting import submit
from tests.adapters.qsub import Qsub

SCRIPT = b"#!/bin/sh\n#PBS -l pair=flow\ntrue\n"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Qsub:
    return Qsub(tmp_path, monkeypatch, submit, SCRIPT, shown)


def shown(named: str) -> str:
    resources = f'"pair": "{named}"' if named else ""
    return f'{{"Jobs": {{"17.mira": {{"job_state": "Q", "Resource_List": {{{resources}}}}}}}}}'


def test_options_become_qsub_s(run: Qsub) -> None:
    options = {"nodes": 2, "time_limit": 90, "name": "flow", "hold": True, "mate": "eureka:9", "or_alone": True}
    run(export="ALL,A=1", directory="/tmp", **options)
    named = "-l mate=eureka:9 -l or_alone=true"
    expected = f"-l select=2 -l place=scatter -l walltime=90 -N flow -V -v A=1 -h {named}"
    assert " ".join(run.passed()) == expected
    assert run.script() == SCRIPT


def test_a_job_that_may_be_adopted_names_no_mate(run: Qsub) -> None:
    assert not run(adoptable=True).names_mate
    assert " ".join(run.passed()) == "-l adoptable=true"


def test_groups_and_names_with_commas(run: Qsub) -> None:
    run(group="run7", members=["polaris", "eureka"])
    assert " ".join(run.passed()) == "-l group=run7@eureka+polaris"
    run(pair="a,b", pair_domain="eureka")
    assert " ".join(run.passed()) == '-l pair="a,b"'


def test_the_domain_of_a_pair_is_named_where_there_are_several(run: Qsub) -> None:
    run(peers=["eureka", "polaris"], pair="p", pair_domain="polaris")
    assert " ".join(run.passed()) == "-l group=p@polaris"
    with pytest.raises(InputError, match="mira is coupled with eureka, polaris; name one by --pair-domain"):
        run(peers=["eureka", "polaris"], pair="p")


def test_the_mate_may_be_named_in_the_script(run: Qsub) -> None:
    assert run(named="flow") == Accepted("17", True)
    assert run() == Accepted("17", False)


def test_what_qsub_refuses_is_said_in_its_words(run: Qsub) -> None:
    with pytest.raises(ManagerError, match=r"^qsub: cosched: mate is DOMAIN:ID, such as eureka:17$"):
        run("echo 'qsub: cosched: mate is DOMAIN:ID, such as eureka:17' >&2; exit 1")
    with pytest.raises(ManagerError, match="not the id of a PBS job"):
        run("echo hello")


@pytest.mark.parametrize("wrong", [{"comment": "x"}, {"arguments": ("a",)}])
def test_what_qsub_cannot_do(run: Qsub, wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        run(**wrong)


def test_nodes_by_name_are_chunks_of_their_own(run: Qsub) -> None:
    run(nodelist="mira[0],mira[2]", nodes=2)
    assert " ".join(run.passed()) == "-l select=1:vnode=mira[0]+1:vnode=mira[2]"
    with pytest.raises(InputError, match="--nodelist: names 2 of the 3 nodes of --nodes: PBS wants them all"):
        run(nodelist="mira[0],mira[2]", nodes=3)


def test_a_range_of_nodes_is_refused(run: Qsub) -> None:
    with pytest.raises(InputError, match="--nodes: 4-16 is a range: a job of PBS has one number of nodes"):
        run(nodes=NodeRange(4, 16))
