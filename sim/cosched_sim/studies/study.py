"""What a study is: its name, what it asks, the options of its command, and where its work is."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosched import __version__

if TYPE_CHECKING:
    from polars import DataFrame

    from cosched_sim.studies.report import Report
    from cosched_sim.sweeps.case import Case

Said = dict[str, Any]
"""The content of study.json: what is carried out."""


@dataclass(frozen=True, slots=True)
class Told:
    """How a study tells of itself: `say` prints a line, `step` shows what is being done."""

    say: Callable[[str], None]
    step: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Work:
    """What a study does. All of it follows from study.json, so that a study can be continued, and its report remade.

    `cases`: its replays, in the order of the rows of results.parquet. `report`: what it makes of these rows.
    `describe` adds what the study's own options say to study.json, and writes files that the cases need to the
    folder. InputError, OSError; ValueError, KeyError, TypeError: study.json is of something else.
    """

    cases: Callable[[Said, Path], Sequence[Case]]
    report: Callable[[Said, Path, DataFrame], Report]
    describe: Callable[[Said, Mapping[str, Any], Path, Told], Said] = lambda said, *_: said


@dataclass(frozen=True, slots=True)
class Study:
    """A study, as its command shows it; `work` may be named as "module:NAME", which is imported when it is needed.

    Of the pairs the first is for `--quick`, the second for a full study: `times` it takes on two processors,
    `replications`, and `days` of each (None: it has no months). `counted`: what the replications are called.
    `options` are decorators of click.
    """

    name: str
    purpose: str
    text: str
    work: Work | str
    times: tuple[str, str]
    replications: tuple[int, int]
    days: tuple[float, float] | None = None
    counted: str = "replications"
    options: Sequence[Callable[[Any], Any]] = ()
    examples: str = ""

    def load(self) -> Work:
        """Return the work; ImportError, AttributeError."""
        if isinstance(self.work, Work):
            return self.work
        module, _, name = self.work.partition(":")
        work: Work = getattr(import_module(module), name)
        return work

    def said(self, given: Mapping[str, Any]) -> Said:
        """Return what study.json says in every study, by the options of the command."""
        quick, days = given["quick"], self.days
        said = {"study": self.name, "version": __version__, "command": given["command"], "quick": quick}
        said[self.counted] = given.get(self.counted) or self.replications[not quick]
        said["seed"] = given["seed"]
        if days is not None:
            said["days"] = given.get("days") or days[not quick]
        return {**said, "logs": []}


def words_of(file: str) -> dict[str, Any]:
    """Return the words of a study: words.toml beside a module of its package. `first` has the five first sentences."""
    return tomllib.loads(Path(file).with_name("words.toml").read_text())


def study_of(file: str, work: str, options: Sequence[Callable[[Any], Any]] = ()) -> Study:
    """Return a study that the table [study] in words.toml describes."""
    said: dict[str, Any] = words_of(file)["study"]
    pairs = {key: tuple(of) for key, of in said.items() if isinstance(of, list)}
    return Study(**{**said, **pairs, "work": work, "options": options})


def seeds(said: Said, count: int) -> str:
    """Name the seeds of so many replications."""
    first = said["seed"]
    return f"seeds {first} to {first + count - 1}" if count > 1 else f"seed {first}"


def replications(said: Said) -> str:
    """Say in a sentence what was replicated."""
    count = said["replications"]
    return f"Replications: {count}, of {said['days']:g} days each ({seeds(said, count)})."
