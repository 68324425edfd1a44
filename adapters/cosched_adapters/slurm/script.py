"""Reads the options of a script's `#SBATCH` lines that matter to a job with a mate.

It reads as sbatch 22.05 does: up to the first command, with quotes, backslashes, comments after `#` and abbreviated
options. Variables of the environment override the script. sbatch has the last word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest

_DIRECTIVE = re.compile(r"#(?:SBATCH|SLURM)(.*)", re.DOTALL)
_NO_COMMAND = re.compile(r"\s*(?:#.*)?", re.ASCII | re.DOTALL)
_QUOTED = re.compile(r"""\\(?P<escaped>.)|(?P<quote>["'])(?P<text>(?:\\.|(?!(?P=quote))[^\\])*)(?P=quote)""", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_WORD = re.compile(rf"""\s*(?P<word>(?:{_QUOTED.pattern}|[^\s"'\\#])+)""", re.ASCII | re.DOTALL)
_COMPONENT = re.compile(r"\s*(?:hetjob|packjob)", re.ASCII | re.IGNORECASE)
_ABBREVIATED = {
    "--array": "--ar",
    "--comment": "--com",
    "--job-name": "--j",
    "--no-requeue": "--no-r",
    "--requeue": "--req",
    "--time": "--time",
}  # shortest
_SHORT = re.compile(r"-[hHOQsuvVW]*([aJt])(.*)", re.DOTALL)
_OF_LETTER = {"a": "--array", "J": "--job-name", "t": "--time"}
_LIMIT = re.compile(
    r"(?:(?P<days>\d{1,6})-)?(?P<first>\d{1,9})(?::(?P<second>\d{1,9}))?(?::(?P<third>\d{1,9}))?", re.ASCII
)
_VARIABLES = {
    "SBATCH_JOB_NAME": "--job-name",
    "SBATCH_ARRAY_INX": "--array",
    "SBATCH_NO_REQUEUE": "--no-requeue",
    "SBATCH_REQUEUE": "--requeue",
    "SBATCH_TIMELIMIT": "--time",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of a job."""

    comment: str = ""
    array: bool = False
    het: bool = False
    others: tuple[str, ...] = ()  # the comments of the other components of a heterogeneous job
    no_requeue: bool = False
    named: bool = False  # by its script
    time_limit: int | None = None  # minutes, rounded up; None: it asks for none, or for an unlimited one


def read_script(script: bytes, environment: Mapping[str, str]) -> Asked:
    """Read the options from a script and from the environment of the user who calls sbatch."""
    components: list[list[str]] = [[]]
    for line in _directives(script.decode("utf-8", "surrogateescape")):
        if _COMPONENT.match(line):
            components.append([])
        else:
            components[-1] += _words(line)
    first, *others = ([*_options(words)] for words in components)
    options = [*first, *((name, environment[v]) for v, name in _VARIABLES.items() if v in environment)]
    values = dict(options)
    requeue = [name for name, _ in options if name in ("--no-requeue", "--requeue")]
    return Asked(
        comment=values.get("--comment", ""),
        array=bool(values.get("--array")),
        het=len(components) > 1,
        others=tuple(dict(its)["--comment"] for its in others if "--comment" in dict(its)),
        no_requeue=requeue[-1:] == ["--no-requeue"],
        named=bool(values.get("--job-name")),
        time_limit=minutes(values.get("--time", "")),
    )


def minutes(limit: str) -> int | None:
    """Return a time limit in the form of sbatch's --time, rounded up as there; None: not a limit, or unlimited."""
    if (match := _LIMIT.fullmatch(limit)) is None:
        return None
    parts = [int(part or 0) for part in match.group("first", "second", "third")]
    by_hours = match["days"] is not None or match["third"] is not None
    hours, each, seconds = parts if by_hours else (0, *parts[:2])
    return ((int(match["days"] or 0) * 24 + hours) * 60 + each) + (seconds + 59) // 60


def _directives(script: str) -> Iterator[str]:
    for line in script.split("\n"):
        if match := _DIRECTIVE.fullmatch(line):
            yield match[1]
        elif not _NO_COMMAND.fullmatch(line):
            return


def _words(line: str) -> Iterator[str]:
    end = 0
    while match := _WORD.match(line, end):
        yield _QUOTED.sub(lambda quoted: quoted["escaped"] or _ESCAPED.sub(r"\1", quoted["text"]), match["word"])
        end = match.end()


def _options(words: list[str]) -> Iterator[tuple[str, str]]:
    """Yield options by their full names, each with its value, or else with the next word."""
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        name, equals, value = word.partition("=")
        for option, least in _ABBREVIATED.items():
            if option.startswith(name) and name.startswith(least):
                yield option, value if equals else following
        if match := _SHORT.fullmatch(word):
            yield _OF_LETTER[match[1]], match[2] or following
