"""How `cosched submit` submits jobs to Grid Engine: it runs qsub as the calling user, whose `#$` lines count."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from cosched.words.errors import InputError
from cosched_adapters.batch_system import Accepted, Submission
from cosched_adapters.gridengine import commands
from cosched_adapters.manager import ManagerError
from cosched_adapters.mate_fields import ADOPTABLE
from cosched_adapters.mate_words import asked_mate
from cosched_adapters.submitting import exported, run, words_of

ENVIRONMENT = "nodes"  # the parallel environment of jobs with several slots


def submit(submission: Submission) -> Accepted:
    """Submit a job by qsub: see `BatchSystemFactory.submit`."""
    given = submission.options
    if given.get("comment") is not None:
        raise InputError("--comment", None, "qsub sets no comment")
    words = words_of(asked_mate(submission.domain, submission.peers, given), commands.words_of)
    words |= {ADOPTABLE: "true"} if given.get("adoptable") else {}
    argv = ["qsub", "-terse", *_options(given), *commands.context(words)]
    argv += ["--", *submission.arguments] if submission.arguments else []
    job_id = _qsub(argv, submission.script, given.get("directory"))
    return Accepted(job_id, _names_mate(job_id))


def _options(given: Mapping[str, Any]) -> list[str]:
    if not isinstance(given.get("nodes", 1), int):
        raise InputError("--nodes", None, f"{given['nodes']} is a range: a job has one number of slots")
    options = ["-pe", ENVIRONMENT, str(given["nodes"])] if "nodes" in given else []
    if given.get("time_limit") is not None:
        options += ["-l", f"h_rt={given['time_limit']}"]
    if given.get("name") is not None:
        options += ["-N", given["name"]]
    if given.get("directory") is None:
        options += ["-cwd"]
    options += exported(given.get("export", ""))
    return [*options, "-h"] if given.get("hold") else options


def _qsub(argv: Sequence[str], script: bytes, directory: str | None) -> str:
    done = run([*argv[:1], *(["-wd", directory] if directory else []), *argv[1:]], script, directory=directory)
    said = " ".join((done.stderr + done.stdout).decode(errors="replace").split())
    job_id = done.stdout.decode(errors="replace").strip().partition(".")[0]
    if done.returncode != 0 or not job_id.isdecimal():
        raise ManagerError(said or f"qsub: exit {done.returncode}")
    return job_id


def _names_mate(job_id: str) -> bool:
    """Return whether the job names a mate, perhaps by a line of its script: Grid Engine has read that."""
    shown = subprocess.run(commands.details(job_id), capture_output=True, check=False, env=dict(os.environ))
    rows = commands.parse_details(shown.stdout) if shown.returncode == 0 else []
    return any(row.words.keys() - {ADOPTABLE} for row in rows)
