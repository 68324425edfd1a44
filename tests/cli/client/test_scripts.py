"""What is wrong with the script of a job, or with its arguments, is said at submission."""

import pytest

from tests.cli.client.test_submit import asked, script

__all__ = ["asked", "script"]
pytestmark = pytest.mark.usefixtures("domain")


def test_a_directive_after_the_first_command_is_told(cosched, script):
    result = cosched("submit", script("#COSCHED -N 2", "", "cd /tmp", "#COSCHED --nodes=4", "#COSCHED -t 1"))
    said = "job.sh:5: this #COSCHED line is not read: put it before the script's first command\n"
    assert result.stderr == said
    refused = cosched("submit", "--pair", "p", "--to=intrepid:job.sh", "--to=mira:job.sh", exit_code=2).stderr
    assert refused.startswith(said)
    assert refused.count(said) == 1


def test_an_interpreter_that_cannot_be_there_is_refused_with_what_to_do(refused, domain, tmp_path):
    (tmp_path / "job.sh").write_bytes(b"#!/bin/sh\r\ntrue\r\n")
    for command in (["submit", "job.sh"], ["submit", "--group", "g", "--to=intrepid:job.sh", "--to=mira:job.sh"]):
        assert refused(*command).startswith("job.sh:1: its lines end as on Windows, and no interpreter's name")
    assert "SubmitJobRequest" not in {type(request).__name__ for request in domain.requests}


def test_an_interpreter_that_is_missing_on_this_host_is_told_at_once(cosched, domain, tmp_path):
    (tmp_path / "job.sh").write_bytes(b"#!/bin/nosuch -e\n")
    said = "job.sh:1: its interpreter /bin/nosuch is missing on this host: the job will fail\n"
    assert cosched("submit", "job.sh").stderr == said
    domain.domain.manager = "replay"  # which runs nothing
    assert cosched("submit", "job.sh").stderr == ""
    domain.domain.manager = "local"
    (tmp_path / "job.sh").write_bytes(b"#!/usr/bin/env -S python3 -u\n")
    assert cosched("submit", "job.sh").stderr == ""


@pytest.mark.parametrize(
    "option", [["--pair", "run7"], ["--pair=run7"], ["--group", "g"], ["--at", "+1h"], ["--to=a:b"]]
)
def test_an_option_after_the_script_without_which_it_would_start_alone_is_refused(refused, domain, script, option):
    said = refused("submit", script(), "data", *option)
    assert (
        f"{option[0].partition('=')[0]} after SCRIPT is the script's: put it before, or write -- after SCRIPT" in said
    )
    assert domain.requests == []


def test_other_options_after_the_script_are_the_script_s_which_is_told(cosched, domain, script):
    result = cosched("submit", script(), "-N", "4", "--name", "x")
    assert result.stderr == "-N after SCRIPT is the script's, not the command's (say so by -- after SCRIPT)\n"
    assert list(domain.requests[-1].arguments) == ["-N", "4", "--name", "x"]


@pytest.mark.parametrize(("before", "taken"), [(["--"], []), (["go", "--"], ["go", "--"])])
def test_a_script_may_have_any_arguments(asked, script, before, taken):
    request = asked(script(), *before, "--pair", "kill1", "--", "-N")
    assert list(request.arguments) == [*taken, "--pair", "kill1", "--", "-N"]


@pytest.mark.parametrize(
    ("option", "near"),
    [
        ("--piar", " Did you mean '--pair'?"),
        ("--fro-nicate", " If the domain's scheduler reads it: --column fro_nicate=TEXT."),
        pytest.param("--leats", " Did you mean '--least'?", marks=pytest.mark.papers),
        ("-x", ""),
    ],
)
def test_an_option_that_is_not_there_is_followed_by_the_one_that_may_be_meant(refused, script, option, near):
    said = f"No such option '{option}'.{near}"
    assert refused("submit", option, "x", script()) == f"{said} Try 'cosched submit -h'"
    assert refused("submit", script(f"#COSCHED {option}=x")) == f"job.sh:2: {said}"


def test_a_script_that_is_missing_or_too_large(refused, tmp_path):
    assert refused("submit", "none.sh") == "none.sh: cannot be read: No such file or directory"
    (tmp_path / "job.sh").write_bytes(b"#" * ((1 << 20) + 1))
    assert refused("submit", "job.sh") == "job.sh: is larger than 1 MiB"
