"""How `cosched submit` submits jobs to Slurm: it runs sbatch as the calling user."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cosched.core.protocol import Named
from cosched.words.errors import InputError
from cosched_adapters.batch_system import Accepted, Submission
from cosched_adapters.manager import ManagerError
from cosched_adapters.mate_words import asked_mate, option_of
from cosched_adapters.own.submitting import behind_gate, hold_time, own_gates
from cosched_adapters.slurm import commands
from cosched_adapters.slurm.comments import ARRAY, HET, NO_REQUEUE, CommentError, add, add_adoptable, find
from cosched_adapters.slurm.gates import WORDS
from cosched_adapters.slurm.script import Asked, read_script
from cosched_adapters.submitting import run


def submit(submission: Submission) -> Accepted:
    """Submit a job by sbatch: see `BatchSystemFactory.submit`."""
    path, script, given = submission.path, submission.script, submission.options
    named = asked_mate(submission.domain, submission.peers, given)
    asked = read_script(script, os.environ)
    comment = _comment(path, asked, given, named)
    paired = _mate_of(path, asked, comment)
    with _naming(path):
        strays = [other for other in map(find, asked.others) if other not in (None, paired)]
    if strays:
        raise InputError(path, None, HET)
    if asked.array and (given.get("adoptable") or (paired is not None and not paired.name)):
        raise InputError(path, None, ARRAY)
    options = sbatch_options(given) + ([] if comment is None else [f"--comment={comment}"])
    file, gates = _file(path), None if paired is None else own_gates(submission.server)
    if gates is not None:
        options += _named_as_without(path, given, asked)
        script, raised = _gated(path, script, gates, asked, given)
        options, file = options + raised, None
    job_id, said = _sbatch(commands.submit(options, file, submission.arguments), script, submission.config)
    remarks = [f"sbatch: {line}" for line in said]
    if paired is not None and asked.no_requeue and NO_REQUEUE not in said:
        remarks.append(NO_REQUEUE)
    return Accepted(job_id, paired is not None, remarks)


def _gated(path: str, script: bytes, gates: Path, asked: Asked, given: Mapping[str, Any]) -> tuple[bytes, list[str]]:
    """Return a script behind its gate, and the option by which its time limit is raised for the wait (hold_time)."""
    limit = asked.time_limit if given.get("time_limit") is None else math.ceil(given["time_limit"] / 60)
    raised = math.ceil(hold_time(gates) / 60) if limit else 0
    options = [f"--time={limit + raised}"] if limit and raised else []
    return behind_gate(path, script, gates, WORDS, raised), options


def _named_as_without(path: str, given: Mapping[str, Any], asked: Asked) -> list[str]:
    """Return the options that a job needs since sbatch reads its script from standard input."""
    named = given.get("name") or asked.named or path == "-"
    requeue = [] if asked.no_requeue else ["--requeue"]
    return [*([] if named else [f"--job-name={Path(path).name}"]), "--open-mode=append", *requeue]


def sbatch_options(given: Mapping[str, Any]) -> list[str]:
    """Return the options for sbatch, except those that go into the job's comment."""
    taken = {"nodes": "nodes", "nodelist": "nodelist", "job-name": "name", "export": "export"}
    options = {option: given.get(name) for option, name in taken.items()}
    if given.get("time_limit") is not None:
        minutes, seconds = divmod(given["time_limit"], 60)
        options["time"] = f"{minutes}:{seconds:02}"
    if "directory" in given:
        options["chdir"] = os.path.abspath(given["directory"])
    named = [f"--{option}={value}" for option, value in options.items() if value is not None]
    return [*named, "--hold"] if given.get("hold") else named


def _comment(path: str, asked: Asked, given: Mapping[str, Any], named: Named | None) -> str | None:
    """Return the comment for sbatch, with the user's own; None keeps the script's, if any."""
    own: str | None = given.get("comment")
    before, source = (asked.comment, path) if own is None else (own, "--comment")
    if named is None:
        with _naming(source):
            return add_adoptable(before) if given.get("adoptable") else own
    with _naming(option_of(named)):
        add("", named)
    with _naming(source):
        return add(before, named)


def _mate_of(path: str, asked: Asked, comment: str | None) -> Named | None:
    with _naming(path if comment is None else "--comment"):
        return find(asked.comment if comment is None else comment)


@contextmanager
def _naming(source: str) -> Iterator[None]:
    """Let a CommentError name where the comment comes from."""
    try:
        yield
    except CommentError as error:
        raise InputError(source, None, str(error)) from None


def _file(path: str) -> str | None:
    """Return a path of the script that sbatch finds too: it looks for a bare name in --chdir and in PATH."""
    return os.path.abspath(path) if os.path.isfile(path) else None


def _sbatch(argv: list[str], script: bytes, config: str | None) -> tuple[str, list[str]]:
    """Run sbatch; return the job's id and the other lines that sbatch printed."""
    done = run(argv, script, None if config is None else {**os.environ, "SLURM_CONF": config})
    said = commands.parse_said(done.stderr)
    if not done.stdout.strip():
        raise ManagerError(f"sbatch: {'; '.join(said) or f'exit {done.returncode}'}")
    return commands.parse_submitted(done.stdout), said
