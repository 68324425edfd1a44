"""Checks of a job specification before anything is written: sizes, characters, paths."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cosched.validation.scripts import wrong_first_line
from cosched_adapters.launcher import JobSpec, SpecError
from cosched_adapters.local.jobfile import MAX_SECONDS

MAX_TEXT = 32768  # characters of an argument or of a variable, as in proto/cosched/v1/domain.proto
MAX_ITEMS = 4096  # arguments; variables
MAX_TOTAL = 1 << 20  # bytes of all arguments and variables; Linux takes about twice that
MAX_SCRIPT = 1 << 20  # bytes
MAX_PATH = 4095  # bytes, Linux's limit
_JOB_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")  # also the name of a folder
_VARIABLE = re.compile(r"[^=\0]{1,256}")
_MATE = re.compile(r"[A-Za-z0-9_.-]{1,64}:[!-~]{1,128}")


def is_job_id(text: str) -> bool:
    """Return whether the local manager accepts this text as the id of a job."""
    return _JOB_ID.fullmatch(text) is not None


def check_spec(spec: JobSpec, slots: int) -> None:
    """Raise SpecError if a machine of `slots` nodes cannot run this job."""
    if not is_job_id(spec.job_id):
        raise SpecError("job_id", "must be 1 to 100 of A-Z a-z 0-9 _ . - and begin with a letter or digit")
    _check_number("nodes", spec.nodes, slots)
    _check_number("walltime", spec.walltime, MAX_SECONDS)
    _check_program(spec)
    _check_environment(spec)
    _check_path("directory", spec.directory, absolute=True)
    for field, path in (("output", spec.output), ("error", spec.error)):
        if path is not None:
            _check_path(field, path)
    for field, text, most in (("name", spec.name, 256), ("pair", spec.pair, 128), ("user", spec.user, 256)):
        if text is not None and (len(text) > most or not text.isprintable()):
            raise SpecError(field, f"must have at most {most} characters, all printable")
    if spec.mate is not None and not _MATE.fullmatch(spec.mate):
        raise SpecError("mate", "must be DOMAIN:ID")
    total = _total(spec.command) + _total(spec.environment) + _total(spec.environment.values())
    if total > MAX_TOTAL:
        raise SpecError("command", f"and environment have {total} bytes together, at most {MAX_TOTAL} are possible")


def _check_number(field: str, value: int, most: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise SpecError(field, f"must be a whole number from 1 to {most}")


def _check_program(spec: JobSpec) -> None:
    if len(spec.command) > MAX_ITEMS:
        raise SpecError("command", f"has more than {MAX_ITEMS} arguments")
    if any(len(argument) > MAX_TEXT or "\0" in argument for argument in spec.command):
        raise SpecError("command", f"has an argument with a NUL or with more than {MAX_TEXT} characters")
    if spec.script is None:
        if not spec.command or not spec.command[0]:
            raise SpecError("command", "is missing")
    elif len(spec.script) > MAX_SCRIPT:
        raise SpecError("script", f"has more than {MAX_SCRIPT} bytes")
    elif not spec.script.startswith(b"#!"):
        raise SpecError("script", "must begin with #! and the path of its interpreter")
    elif (wrong := wrong_first_line(spec.script)) is not None:
        raise SpecError("script", wrong)


def _check_environment(spec: JobSpec) -> None:
    if len(spec.environment) > MAX_ITEMS:
        raise SpecError("environment", f"has more than {MAX_ITEMS} variables")
    for name, value in spec.environment.items():
        if not _VARIABLE.fullmatch(name):
            raise SpecError("environment", "has an invalid name: 1 to 256 characters without = and NUL are needed")
        if len(value) > MAX_TEXT or "\0" in value:
            raise SpecError("environment", f"has a value with a NUL or with more than {MAX_TEXT} characters")


def _check_path(field: str, path: str, *, absolute: bool = False) -> None:
    if not path or "\0" in path or _total([path]) > MAX_PATH:
        raise SpecError(field, f"must be a path of 1 to {MAX_PATH} bytes")
    if absolute and not path.startswith("/"):
        raise SpecError(field, "must be an absolute path")


def _total(texts: Iterable[str]) -> int:
    return sum(len(text.encode("utf-8", "surrogatepass")) + 1 for text in texts)
