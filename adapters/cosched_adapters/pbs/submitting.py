"""How `cosched submit` submits jobs to PBS: it runs qsub as the calling user, whose `#PBS` lines count."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cosched.words.errors import InputError
from cosched.words.file_errors import reason_of
from cosched_adapters.batch_system import Accepted, Submission
from cosched_adapters.manager import ManagerError
from cosched_adapters.mate_fields import ADOPTABLE, ARRAY, words
from cosched_adapters.mate_words import asked_mate
from cosched_adapters.own.submitting import behind_gate, own_gates
from cosched_adapters.pbs import commands
from cosched_adapters.pbs.own import GATE, ONLY_HOLDS, write_words
from cosched_adapters.submitting import exported, run, words_of


def submit(submission: Submission) -> Accepted:
    """Submit a job by qsub: see `BatchSystemFactory.submit`. The hook tells the user what is wrong with a mate."""
    given = submission.options
    if submission.arguments:
        raise InputError(submission.path, None, "qsub passes no arguments to a script")
    if given.get("comment") is not None:
        raise InputError("--comment", None, "qsub sets no comment")
    named = words_of(asked_mate(submission.domain, submission.peers, given), words)
    mate = [word for name, value in named.items() if value for word in ("-l", commands.resource(name, value))]
    environment = dict(os.environ) if submission.config is None else {**os.environ, "PBS_CONF_FILE": submission.config}
    gates = own_gates(submission.server)
    if gates is not None:
        return _submit_to_gate(submission, gates, named, environment)
    argv = ["qsub", *_options(given), *mate]
    argv += ["-l", commands.resource(ADOPTABLE, "true")] if given.get("adoptable") else []
    job_id = commands.job_number(_qsub(argv, submission.script, given.get("directory"), environment))
    return Accepted(job_id, _names_mate(job_id, environment))


def _submit_to_gate(
    submission: Submission, gates: Path, named: Mapping[str, str], environment: Mapping[str, str]
) -> Accepted:
    """Submit a job behind its gate, if it names a mate; qsub names it, and its output, as without."""
    given, path, script = submission.options, submission.path, submission.script
    if given.get("adoptable"):
        raise InputError("--adoptable", None, "a job without a mate has no gate here: name the mate by --pair")
    argv = ["qsub", *_options(given)]
    if not named:
        return Accepted(commands.job_number(_submit_file(argv, path, script, given, environment)), False)
    printed = _submit_file(argv, path, behind_gate(path, script, gates, GATE), given, environment)
    job_id = commands.job_number(printed)
    if commands.is_array(printed):
        subprocess.run(["qdel", printed], capture_output=True, check=False, env=environment)
        raise InputError(path, None, ARRAY)
    try:
        write_words(gates, job_id, named)
    except OSError as error:
        subprocess.run(["qdel", printed], capture_output=True, check=False, env=environment)
        raise InputError(str(gates), None, f"cannot be used: {reason_of(error, gates)}") from None
    return Accepted(job_id, True, [ONLY_HOLDS])


def _submit_file(
    argv: Sequence[str], path: str, script: bytes, given: Mapping[str, Any], environment: Mapping[str, str]
) -> str:
    """Submit a script as a file of its own name; return what qsub has printed."""
    if path == "-":
        return _qsub(argv, script, given.get("directory"), environment)
    with TemporaryDirectory(prefix="cosched-") as folder:
        file = Path(folder, Path(path).name)
        file.write_bytes(script)
        return _qsub([*argv, str(file)], b"", given.get("directory"), environment)


def _options(given: Mapping[str, Any]) -> list[str]:
    options: list[str] = []
    if not isinstance(given.get("nodes", 1), int):
        raise InputError("--nodes", None, f"{given['nodes']} is a range: a job of PBS has one number of nodes")
    if given.get("nodelist") is not None:
        options += ["-l", f"select={_vnodes(given['nodelist'], given.get('nodes'))}"]
    elif "nodes" in given:
        options += ["-l", f"select={given['nodes']}", "-l", "place=scatter"]
    if given.get("time_limit") is not None:
        options += ["-l", f"walltime={given['time_limit']}"]
    if given.get("name") is not None:
        options += ["-N", given["name"]]
    options += exported(given.get("export", ""))
    return [*options, "-h"] if given.get("hold") else options


def _vnodes(nodelist: str, nodes: int | None) -> str:
    """Return the chunks of a job that has these vnodes; InputError."""
    names = nodelist.split(",")
    if nodes not in (None, len(names)):
        raise InputError("--nodelist", None, f"names {len(names)} of the {nodes} nodes of --nodes: PBS wants them all")
    return "+".join(f"1:vnode={name}" for name in names)


def _qsub(argv: Sequence[str], script: bytes, directory: str | None, environment: Mapping[str, str]) -> str:
    """Run qsub; return the id that it has printed. ManagerError."""
    done = run(argv, script, environment, directory)
    said = " ".join(done.stderr.decode(errors="replace").split())
    if done.returncode != 0:
        raise ManagerError(said or f"qsub: exit {done.returncode}")
    printed = done.stdout.decode(errors="replace").strip()
    try:
        commands.job_number(printed)
    except ValueError as error:
        raise ManagerError(f"qsub has printed {error}") from None
    return printed


def _names_mate(job_id: str, environment: Mapping[str, str]) -> bool:
    """Return whether the job names a mate, perhaps by a line of its script: PBS has read that."""
    shown = subprocess.run(commands.history(job_id), capture_output=True, check=False, env=environment)
    rows = commands.parse_jobs(shown.stdout) if shown.returncode == 0 else []
    return any(row.resources.keys() - {ADOPTABLE} for row in rows)
