"""A study as data: experiments, measures, comparisons, words. Its cases and its report follow from them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from polars import DataFrame

from cosched_sim.reports.page import Section, Table
from cosched_sim.results.estimate import Estimate, shown, shown3
from cosched_sim.studies.cases import StudyCase, labels
from cosched_sim.studies.measured import BETTER, WORSE, Comparison, Measured, Place
from cosched_sim.studies.paper import Beside
from cosched_sim.studies.report import Report, sections_in_markdown
from cosched_sim.studies.study import Said, Told, Work, replications, words_of
from cosched_sim.studies.tables import averages_table, comparisons_table, counts_table, headed, means_table
from cosched_sim.studies.verdicts import LEAST, inconclusive
from cosched_sim.sweeps.case import Row

METHOD: str = words_of(__file__)["method"]

Settings = dict[str, Any]
Asked = Iterable[tuple[Place, Place, str]]  # a place, the one beside which it is, a measure


@dataclass(frozen=True)
class Experiment:
    """One setting that varies: its values (`points`, with `labels` for people), and the combinations at each.

    `but`: other combinations at some points. `settings` returns the settings of a replay at a point under some schemes
    in a replication, from 1.
    """

    name: str
    title: str
    axis: str
    points: tuple[float, ...]
    schemes: tuple[str, ...]
    settings: Callable[[float, str, int], Settings]
    labels: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    replications: int = 1
    but: Mapping[float, tuple[str, ...]] = field(default_factory=dict)

    def label(self, point: float) -> str:
        """Return what a point is called."""
        return self.labels[self.points.index(point)] if self.labels else f"{point:g}"

    @property
    def places(self) -> Iterator[Place]:
        """Its places, in order."""
        for point in self.points:
            for schemes in self.but.get(point, self.schemes):
                yield self.name, float(point), schemes


@dataclass(frozen=True)
class Found(Measured):
    """What the cases of some experiments measured; `asked` are the comparisons in each."""

    said: Said
    experiments: Sequence[Experiment]
    asked: Callable[[Experiment], Asked]

    @cached_property
    def compared(self) -> list[Comparison]:
        """Return all comparisons, with simultaneous (Bonferroni) intervals."""
        return self.comparisons(asked for each in self.experiments for asked in self.asked(each))

    @property
    def places(self) -> Iterator[tuple[Experiment, Place]]:
        """All places with their experiments."""
        return ((each, place) for each in self.experiments for place in each.places)

    def experiment(self, place: Place) -> Experiment:
        """Return the experiment of a place."""
        return next(each for each in self.experiments if each.name == place[0] and place[1] in each.points)

    def label(self, place: Place) -> str:
        """Return what the point of a place is called."""
        return self.experiment(place).label(place[1])

    @property
    def fewest(self) -> int:
        """The replications of the places that have fewest."""
        return int(min(self.said["replications"], self.said.get("further", self.said["replications"])))

    @property
    def conclusive(self) -> bool:
        """Whether one may conclude from it."""
        return not inconclusive(self.said, self.fewest)

    @property
    def counted(self) -> str:
        """Say in a clause how the comparisons came out."""
        if not self.compared:
            return f"nothing is decided, as comparisons need at least {LEAST} replications"
        counts = Counter(each.verdict for each in self.compared)
        return (
            f"of {counts.total():,} comparisons, by intervals that hold together, {counts[BETTER]:,} are better, "
            f"{counts[WORSE]:,} worse, and the others open"
        )

    @property
    def method(self) -> str:
        """Say how differences are decided."""
        return METHOD.format(count=len(self.compared), least=LEAST)


FIELD = re.compile(r"\[(\w+)(?:-(\w+))?\|([^]|]+)\|(.)\]")
FORMS: Mapping[str, Callable[[Estimate], str]] = {
    "±": str,
    "s": lambda value: shown(value.mean),
    "3": lambda value: shown3(value.mean),
    "h": lambda value: f"{value.mean / 60:.1f} h",
}


def filled(found: Found, text: str, experiment: str, point: float) -> str:
    """Fill in means at a point: [SCHEMES|MEASURE|FORM], or [SCHEMES-OTHERS|MEASURE|FORM] for a difference."""

    def value(field: re.Match[str]) -> str:
        schemes, others, measure, form = field.groups()
        place = experiment, point, schemes
        of = found.difference(place, (*place[:2], others), measure) if others else found.mean(place, measure)
        return "–" if of is None else FORMS[form](of)

    return FIELD.sub(value, text)


def means_tables(found: Found, shown: Sequence[str]) -> list[Table]:
    """Return a table of means for each experiment."""
    return [
        means_table(
            found, of.title, headed(of.axis, "schemes", *shown), (([of.label(p[1]), p[2]], p) for p in of.places), shown
        )
        for of in found.experiments
    ]


def sections(found: Found, shown: Sequence[str]) -> Iterator[Section]:
    """Yield the sections of a plain study: means by experiment, and how the comparisons came out."""
    yield Section("Means", tables=means_tables(found, shown))
    yield comparisons_section(found, "Experiment", "Schemes", "Beside", "Measure")


def comparisons_section(
    found: Found, *heads: str, beside: Callable[[Comparison], str] = lambda of: of.other[2]
) -> Section:
    """Return how the comparisons came out, by experiment, what is compared, beside what, and measure."""
    table = counts_table(found.compared, heads, lambda of: (
        found.experiment(of.place).title, of.place[2], beside(of), of.measure
    )[: len(heads)])  # fmt: skip
    return Section(table.title, found.method, tables=[table])


def averages_of(found: Found, measures: Sequence[str]) -> DataFrame:
    """Return all means with their own intervals."""
    places = (({"experiment": p[0], "point": p[1], "schemes": p[2]}, p, measures) for _, p in found.places)
    return averages_table(found, places)


COLUMNS: Mapping[str, Callable[[Comparison], Any]] = {
    "experiment": lambda of: of.place[0],
    "point": lambda of: of.place[1],
    "measure": lambda of: of.measure,
    "schemes": lambda of: of.place[2],
    "other": lambda of: of.other[2],
    "mean": lambda of: of.mean.mean,
    "other's": lambda of: of.rival.mean,
    "difference": lambda of: of.difference.mean,
    "half": lambda of: of.difference.half,  # of the interval that holds together with the others
    "verdict": lambda of: of.verdict,
}


@dataclass(frozen=True)
class Design:
    """A study of experiments, whose cases are replays that `measure` measures.

    `words` has title and subtitle, what explains the setup, the meaning (of the schemes, or of what `places` are) and
    the measures, and the `first` sentences, into which `values`, and the `score` of a paper, put what was found.
    `measures` are shown in tables; `compared` yields what is compared in an experiment. The rest is for what a study
    has beyond: paragraphs of a `verdict`, its own `sections` and `tables`, a `paper` beside ours, an order of its
    `cases`, more to say of a case, options that it can `describe`.
    """

    words: Mapping[str, Any]
    experiments: Callable[[Said, Path], Sequence[Experiment]]
    measure: Callable[[StudyCase], Row]
    measures: Sequence[str]
    compared: Callable[[Experiment], Asked]
    values: Callable[[Found], Mapping[str, object]]
    verdict: Callable[[Found], Sequence[str]] = lambda _: ()
    sections: Callable[[Found], Iterable[Section]] | None = None
    tables: Callable[[Found], Iterable[tuple[str, DataFrame]]] | None = None
    told: Callable[[Found], Sequence[str]] = lambda _: ()
    paper: Callable[[Found], Beside] | None = None
    places: str = "Schemes"
    replicated: Callable[[Said], str] = replications
    more: Callable[[Experiment, Place, int], tuple[Any, ...]] = lambda *_: ()
    by_experiment: bool = False  # cases: one experiment after another, else one replication after another
    describe: Callable[[Said, Mapping[str, Any], Path, Told], Said] = lambda said, *_: said

    @property
    def work(self) -> Work:
        """What the study does."""
        return Work(self.cases, self.report, self.describe)

    def cases(self, said: Said, folder: Path) -> list[StudyCase]:
        """Return every case."""
        there = self.experiments(said, folder)
        most = max(each.replications for each in there)
        turns = [(replication, each) for replication in range(1, most + 1) for each in there]
        if self.by_experiment:
            turns = [(replication, each) for each in there for replication in range(1, most + 1)]
        return [
            StudyCase(
                each.settings(place[1], place[2], replication), labels(*place, replication), self.measure,
                self.more(each, place, replication)
            )
            for replication, each in turns
            if replication <= each.replications
            for place in each.places
        ]  # fmt: skip

    def report(self, said: Said, folder: Path, rows: DataFrame) -> Report:
        """Return what was found."""
        found = Found(rows, said, self.experiments(said, folder), self.compared)
        verdict = self.verdict(found)
        parts = list(self.sections(found) if self.sections else sections(found, self.measures))
        if verdict:
            parts.insert(0, Section("Verdict", "\n\n".join(verdict)))
        replicated, beside = self.replicated(said), self.paper(found) if self.paper else None
        if beside is not None:
            beside = replace(beside, conclusive=found.conclusive)
            parts = [*(each for each in beside.sections() if each.tables[0].rows), *parts]
        words, values = self.words, {"score": beside.score if beside else "", **self.values(found)}
        setup, meaning, measures = (words[name] for name in ("setup", "meaning", "measures"))
        head = f"Written by `cosched study {said['study']}`, version {said['version']}. {replicated}"
        told = [replicated, *(line for paragraph in verdict for line in ("", paragraph.replace("**", "")))]
        return Report(
            said=said,
            count=found.fewest,
            title=words["title"],
            subtitle=words["subtitle"],
            first=[sentence.format(**values) for sentence in words["first"]],
            facts=[("Set-up", setup), ("Workloads", replicated), (self.places, meaning), ("Measures", measures)],
            sections=parts,
            markdown=[head, "", setup, "", meaning, "", measures, "", *sections_in_markdown(parts)],
            tables=[*(self.tables or self._tables)(found), *(beside.tables if beside else ())],
            told=[*told, *self.told(found), *(beside.told if beside else ())],
            failed=found.failed,
        )

    def _tables(self, found: Found) -> Iterator[tuple[str, DataFrame]]:
        yield "averages", averages_of(found, self.measures)
        yield "comparisons", comparisons_table(found.compared, COLUMNS)
