"""`cosched submit` runs qsub of Grid Engine: which options it passes, and what it makes of the words of qsub 8.1.9."""

from pathlib import Path
from typing import Any

import pytest

from cosched.cli.client.node_counts import NodeRange
from cosched.core.protocol import named_mate
from cosched.words.errors import InputError
from cosched_adapters.batch_system import Accepted
from cosched_adapters.gridengine.commands import words_of
from cosched_adapters.gridengine.submitting import submit
from cosched_adapters.manager import ManagerError
from cosched_adapters.mate_fields import WordError
from tests.adapters.qsub import Qsub

SCRIPT = b"#!/bin/sh\n#$ -ac pair=flow\ntrue\n"
SHOWN = """==============================================================
job_number:                 17
submission_time:            Sun Nov 29 06:35:49 2026
owner:                      ann
account:                    sge
job_name:                   STDIN
script_file:                STDIN
"""
NO_ENVIRONMENT = """Unable to run job: job rejected: the requested parallel environment "nope" does not exist
Exiting."""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Qsub:
    return Qsub(tmp_path, monkeypatch, submit, SCRIPT, shown)


def shown(context: str) -> str:
    return SHOWN + (f"context:                    {context}\n" if context else "")


def test_options_become_qsub_s(run: Qsub) -> None:
    options = {"nodes": 2, "time_limit": 90, "name": "flow", "hold": True, "mate": "eureka:9", "or_alone": True}
    run(export="ALL,A=1", directory="/tmp", **options)
    common = ["-wd", "/tmp", "-terse", "-pe", "nodes", "2", "-l", "h_rt=90", "-N", "flow", "-V", "-v", "A=1", "-h"]
    assert run.passed() == [*common, "-ac", "mate=eureka:9,or_alone=true", "-dc", "pair,group"]
    assert run.script() == SCRIPT


def test_a_job_that_may_be_adopted_names_no_mate(run: Qsub) -> None:
    assert not run(adoptable=True, named="adoptable=true").names_mate
    assert run.passed() == ["-terse", "-cwd", "-ac", "adoptable=true"]


def test_an_option_counts_before_a_mate_that_the_script_names(run: Qsub) -> None:
    """The words are added before others are removed: the other order ends the qmaster."""
    run(pair="run7")
    assert run.passed() == ["-terse", "-cwd", "-ac", "pair=run7", "-dc", "mate,group,or_alone"]


def test_arguments_reach_the_script(run: Qsub) -> None:
    run(arguments=("a b", "-c"))
    assert run.passed() == ["-terse", "-cwd", "--", "a b", "-c"]


def test_the_mate_may_be_named_in_the_script(run: Qsub) -> None:
    assert run(named="x=1,pair=flow") == Accepted("17", True)
    assert run() == Accepted("17", False)


def test_an_array_is_known_by_its_first_number(run: Qsub) -> None:
    assert run("echo 17.1-3:1", named="pair=flow") == Accepted("17", True)


@pytest.mark.parametrize(
    "said",
    [NO_ENVIRONMENT, 'Unable to run job: unknown resource "nope"\nExiting.', 'qsub: invalid option argument "-"'],
)
def test_what_qsub_refuses_is_said_in_its_words(run: Qsub, said: str) -> None:
    with pytest.raises(ManagerError) as raised:
        run(f"echo '{said}' >&2; exit 1")
    assert str(raised.value) == " ".join(said.split())


def test_a_qsub_that_prints_no_id(run: Qsub) -> None:
    with pytest.raises(ManagerError, match="hello"):
        run("echo hello")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"comment": "x"}, "--comment: qsub sets no comment"),
        ({"nodes": NodeRange(4, 16)}, "--nodes: 4-16 is a range: a job has one number of slots"),
        ({"pair": "a,b"}, "--pair: a,b has a comma, at which Grid Engine ends a word of a context"),
    ],
)
def test_what_qsub_cannot_do(run: Qsub, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as raised:
        run(**wrong)
    assert said in str(raised.value)


def test_no_context_gets_a_name_that_would_be_cut() -> None:
    with pytest.raises(WordError, match="has a comma"):
        words_of(named_mate("", "a,b"))
