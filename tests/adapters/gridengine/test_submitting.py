"""`cosched submit` runs qsub of Grid Engine: which options it passes, and what it makes of the words of qsub 8.1.9."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from cosched.cli.client.node_counts import NodeRange
from cosched.core.protocol import named_mate
from cosched.words.errors import InputError
from cosched_adapters.batch_system import Accepted, Submission
from cosched_adapters.gridengine.commands import words_of
from cosched_adapters.gridengine.submitting import submit
from cosched_adapters.manager import ManagerError
from cosched_adapters.mate_fields import WordError

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
NO_RESOURCE = 'Unable to run job: unknown resource "nope"\nExiting.'
Run = Callable[..., Accepted]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Submits by a qsub and a qstat of these outputs, which note their arguments, one a line."""

    def run(
        qsub: str = "echo 17",
        context: str = "",
        arguments: tuple[str, ...] = (),
        peers: Sequence[str] = ("eureka",),
        **options: Any,
    ) -> Accepted:
        (tmp_path / "shown").write_text(SHOWN + (f"context:                    {context}\n" if context else ""))
        for name, does in (("qsub", f"cat > {tmp_path}/script; {qsub}"), ("qstat", f"cat {tmp_path}/shown")):
            path = tmp_path / name
            path.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/{name}.arguments\n{does}\n')
            path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        return submit(Submission("mira", peers, "job.sh", SCRIPT, arguments, options))

    return run


@pytest.fixture
def passed(tmp_path: Path) -> Callable[[], list[str]]:
    """The arguments that qsub got."""
    return lambda: (tmp_path / "qsub.arguments").read_text().splitlines()


def test_options_become_qsub_s(run: Run, passed: Callable[[], list[str]], tmp_path: Path) -> None:
    options = {"nodes": 2, "time_limit": 90, "name": "flow", "hold": True, "mate": "eureka:9", "or_alone": True}
    run(export="ALL,A=1", directory=str(tmp_path), **options)
    common = [
        "-wd",
        str(tmp_path),
        "-terse",
        "-pe",
        "nodes",
        "2",
        "-l",
        "h_rt=90",
        "-N",
        "flow",
        "-V",
        "-v",
        "A=1",
        "-h",
    ]
    assert passed() == [*common, "-ac", "mate=eureka:9,or_alone=true", "-dc", "pair,group"]
    assert (tmp_path / "script").read_bytes() == SCRIPT


def test_a_job_that_may_be_adopted_names_no_mate(run: Run, passed: Callable[[], list[str]]) -> None:
    assert not run(adoptable=True, context="adoptable=true").names_mate
    assert passed() == ["-terse", "-cwd", "-ac", "adoptable=true"]


def test_an_option_counts_before_a_mate_that_the_script_names(run: Run, passed: Callable[[], list[str]]) -> None:
    """The words are added before others are removed: the other order ends the qmaster."""
    run(pair="run7")
    assert passed() == ["-terse", "-cwd", "-ac", "pair=run7", "-dc", "mate,group,or_alone"]


def test_arguments_reach_the_script(run: Run, passed: Callable[[], list[str]]) -> None:
    run(arguments=("a b", "-c"))
    assert passed() == ["-terse", "-cwd", "--", "a b", "-c"]


def test_the_mate_may_be_named_in_the_script(run: Run) -> None:
    assert run(context="x=1,pair=flow") == Accepted("17", True)
    assert run() == Accepted("17", False)


def test_an_array_is_known_by_its_first_number(run: Run) -> None:
    assert run("echo 17.1-3:1", context="pair=flow") == Accepted("17", True)


@pytest.mark.parametrize(
    "said",
    [NO_ENVIRONMENT, 'Unable to run job: unknown resource "nope"\nExiting.', 'qsub: invalid option argument "-"'],
)
def test_what_qsub_refuses_is_said_in_its_words(run: Run, said: str) -> None:
    with pytest.raises(ManagerError) as raised:
        run(f"echo '{said}' >&2; exit 1")
    assert str(raised.value) == " ".join(said.split())


def test_a_qsub_that_prints_no_id(run: Run) -> None:
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
def test_what_qsub_cannot_do(run: Run, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as raised:
        run(**wrong)
    assert said in str(raised.value)


def test_no_context_gets_a_name_that_would_be_cut() -> None:
    with pytest.raises(WordError, match="has a comma"):
        words_of(named_mate("", "a,b"))


def test_without_qsub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ManagerError, match="qsub is not found in PATH"):
        submit(Submission("mira", ["eureka"], "job.sh", SCRIPT, (), {}))
