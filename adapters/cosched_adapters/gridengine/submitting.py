"""How `cosched submit` submits jobs to Grid Engine: it runs qsub as the calling user, whose `#$` lines count."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from cosched.core.protocol import Named
from cosched.words.errors import InputError
from cosched_adapters.batch_system import Accepted, Submission
from cosched_adapters.gridengine import commands
from cosched_adapters.manager import ManagerError
from cosched_adapters.mate_fields import ADOPTABLE, WordError
from cosched_adapters.mate_words import asked_mate, option_of

ENVIRONMENT = "nodes"  # the parallel environment of jobs with several slots


def submit(submission: Submission) -> Accepted:
    """Submit a job by qsub: see `BatchSystemFactory.submit`."""
    given = submission.options
    if given.get("comment") is not None:
        raise InputError("--comment", None, "qsub sets no comment")
    words = _named(asked_mate(submission.domain, submission.peers, given))
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
    names = [name for name in given.get("export", "").split(",") if name not in ("ALL", "NONE", "")]
    options += [
        *(["-V"] if "ALL" in given.get("export", "").split(",") else []),
        *(["-v", ",".join(names)] if names else []),
    ]
    return [*options, "-h"] if given.get("hold") else options


def _named(named: Named | None) -> dict[str, str]:
    if named is None:
        return {}
    try:
        return commands.words_of(named)
    except WordError as error:
        raise InputError(option_of(named), None, str(error)) from None


def _qsub(argv: Sequence[str], script: bytes, directory: str | None) -> str:
    try:
        done = subprocess.run(
            [*argv[:1], *(["-wd", directory] if directory else []), *argv[1:]], input=script, capture_output=True,
            check=False, cwd=directory,
        )  # fmt: skip
    except FileNotFoundError:
        raise ManagerError("qsub is not found in PATH; jobs of this domain are submitted with it") from None
    except (OSError, ValueError) as error:
        raise ManagerError(f"qsub cannot be run: {getattr(error, 'strerror', None) or error}") from None
    said = " ".join((done.stderr + done.stdout).decode(errors="replace").split())
    job_id = done.stdout.decode(errors="replace").strip().partition(".")[0]
    if done.returncode != 0 or not job_id.isdecimal():
        raise ManagerError(said or f"qsub: exit {done.returncode}")
    return job_id


def _names_mate(job_id: str) -> bool:
    """Whether the job names a mate, perhaps by a line of its script: Grid Engine has read that."""
    shown = subprocess.run(commands.details(job_id), capture_output=True, check=False, env=dict(os.environ))
    rows = commands.parse_details(shown.stdout) if shown.returncode == 0 else []
    return any(row.words.keys() - {ADOPTABLE} for row in rows)
