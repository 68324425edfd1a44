"""What the doctor says of the other end of a login by ssh; a shell script is in the place of ssh."""

import json
from pathlib import Path

import pytest

from cosched.doctor.other_end import check_other_end
from cosched.version import VERSION

OK = {
    "group": "slurm", "grade": "ok", "subject": "slurmctld", "found": "answers", "change": "", "file": "",
    "lines": [],
}  # fmt: skip
WRONG = OK | {
    "grade": "problem", "subject": "gates", "found": "/home/ann is no folder", "change": "let your service make it",
    "file": "shell", "lines": ["cosched up"],
}  # fmt: skip
BACK = WRONG | {"group": "peers", "subject": "intrepid"}


@pytest.fixture
def other_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return what is found if the shell script is run in the place of ssh."""

    def other_end(script: str):
        program = tmp_path / "ssh"
        program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\n{script}\n')
        program.chmod(0o700)
        monkeypatch.setenv("COSCHED_SSH", str(program))
        found = list(check_other_end("eureka", "ann@login.eureka"))
        assert "cosched doctor --this-end --json" in (tmp_path / "asked").read_text()
        return found

    return other_end


def told(*findings: dict, version: str = VERSION) -> str:
    text = json.dumps({"domain": "eureka", "version": version, "findings": findings})
    return f"echo Welcome; cat << 'END'\n{text}\nEND"


def test_what_is_wrong_there_is_said_here(other_end):
    version, wrong = other_end(told(OK, WRONG, BACK))
    assert (version.grade, version.found) == ("ok", f"cosched {VERSION}, as here")
    assert (wrong.grade, wrong.subject, wrong.lines) == ("problem", "gates", ("cosched up",))


def test_nothing_is_wrong_there(other_end):
    assert [finding.found for finding in other_end(told(OK, OK, BACK))][1:] == ["nothing is wrong there, 2 ok"]


def test_another_version_there_is_a_warning(other_end):
    version, _ = other_end(told(OK, version="0.0.9"))
    assert (version.grade, version.found) == ("warning", f"cosched 0.0.9, and {VERSION} here")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'Permission denied (publickey).' >&2; exit 255", "set up a key without a prompt"),
        ("echo 'sh: cosched: command not found' >&2; exit 127", "install cosched there"),
        ("echo 'cosched: no such option: --this-end' >&2; exit 2", "update cosched there"),
        ("echo '{}'", "exit 0"),
    ],
)
def test_an_end_that_cannot_be_asked_is_a_problem(other_end, script, said):
    (found,) = other_end(script)
    assert found.grade == "problem"
    assert said in found.found
    assert found.lines == ("ssh -o BatchMode=yes ann@login.eureka true",)
