"""Completion in shells: by the protocol of each, and the script that it reads."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from tests.live.services import COMMAND, PATIENCE

BEFORE = {  # how each shell asks, with the cursor after `cosched WORDS`
    "bash": lambda words: {"COMP_WORDS": f"cosched {words}", "COMP_CWORD": str(len(words.split()))},
    "zsh": lambda words: {"COMP_WORDS": f"cosched {words}", "COMP_CWORD": str(len(words.split()))},
    "fish": lambda words: {"COMP_WORDS": f"cosched {words}", "COMP_CWORD": words.split()[-1]},
}


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=PATIENCE, env={**os.environ, **environment}
    )


@pytest.mark.parametrize("shell", BEFORE)
@pytest.mark.parametrize(
    ("words", "expected"), [("sub", "submit"), ("submit --or", "--or-alone"), ("study ref", "reference")]
)
def test_names_and_options_are_completed(shell, words, expected):
    done = run(_COSCHED_COMPLETE=f"{shell}_complete", **BEFORE[shell](words))
    assert expected in done.stdout.replace(",", "\n").replace("\t", "\n").split("\n"), done.stdout + done.stderr


@pytest.mark.parametrize("shell", BEFORE)
def test_what_the_shell_reads(shell):
    script = run("completion", shell).stdout
    assert f"_COSCHED_COMPLETE={shell}_complete" in script
    if shutil.which(shell):
        read = subprocess.run(
            [shell, "-n"], input=script, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        assert read.returncode == 0, read.stderr
