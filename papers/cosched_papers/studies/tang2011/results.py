"""The results of the cases in the paper's units, with differences from the base, and means over replications."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import polars
from polars import DataFrame, Expr, col, lit

from cosched_papers.studies.tang2011.cases import ALIKE, BY_LOAD, BY_SHARE, LAST, LONG, LONG_NO_TIMER
from cosched_papers.studies.tang2011.sensitivity import Sensitivity
from cosched_papers.studies.tang2011.setup import BASE, MACHINES, MEDIUM
from cosched_sim.results.estimate import Estimate
from cosched_sim.studies.cases import LABELS
from cosched_sim.studies.measured import Measured, Place
from cosched_sim.sweeps.averages import INTERVAL, averages

# Measures of a machine; their columns are called "MACHINE MEASURE".
WAIT = "wait"  # mean over all jobs, minutes
SLOWDOWN = "slowdown"  # mean over all jobs
SYNC = "sync time"  # mean over the paired jobs, minutes
LOSS = "lost node-hours"  # by holding
LOSS_SHARE = "lost share"  # of the node-hours in the span, per cent
JOBS = "jobs"
LOAD = "load"  # offered
PAIRED = "paired share"  # of the machine's jobs, per cent
WAIT_RISE = "wait rise"  # difference from the base, in per cent of the base
NEVER = "never started"  # jobs
LONGEST = "longest queue"  # jobs
TOGETHER = "together"  # pairs that started together, per cent of all pairs (column without a machine's name)

EXTRA = " extra"  # suffix of the column with a measure's difference from the base on the same workload

OTHERS_WAIT = "wait of unpaired jobs"  # minutes
OTHERS_SLOWDOWN = "slowdown of unpaired jobs"

COMPARED = (WAIT, SLOWDOWN, OTHERS_WAIT, OTHERS_SLOWDOWN)

COUNTS = ("pairs.pairs", "pairs.together", "stalled", "error")


@dataclass(frozen=True)
class Results(Measured):
    """The cases of a study (one row each, in the paper's units) and their means over replications.

    `facts` are those of study.json, on the set-up.
    """

    sensitivities: Sequence[Sensitivity]
    facts: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls, rows: DataFrame, days: float, sensitivities: Sequence[Sensitivity], facts: Mapping[str, float]
    ) -> Results:
        """Make results from the rows of the cases (results.parquet); `days` is the length of a month."""
        labels = [col("experiment").cast(polars.String), col("point").cast(polars.Float64)]
        rows = rows.select("case", *labels, "schemes", "replication", *COUNTS, *_measures(days))
        rows = polars.concat([rows, *_usual(rows, sensitivities)])
        own_base = {s.name for s in sensitivities if s.own_base}
        return cls(_with_differences(rows, own_base), sensitivities, facts)

    @cached_property
    def means(self) -> DataFrame:
        """One row for each experiment, point and combination of schemes: "n", means and half-widths of intervals."""
        measures = [name for name in self.rows.columns if name not in (*LABELS, *COUNTS, "case")]
        return averages(self.rows, LABELS[:3], measures)

    @cached_property
    def _means_by_place(self) -> dict[Place, dict[str, float]]:
        return {(row["experiment"], row["point"], row["schemes"]): row for row in self.means.iter_rows(named=True)}

    def mean(self, place: Place, measure: str) -> Estimate | None:
        """Return the mean of a measure ("intrepid wait"); None if there is none."""
        row = self._means_by_place.get(place, {})
        return None if row.get(measure) is None else Estimate(row[measure], row[measure + INTERVAL])

    def means_of(
        self, experiment: str, points: Sequence[float], schemes: Sequence[str], measure: str
    ) -> dict[tuple[float, str], Estimate]:
        """Return the means at several points under several combinations of schemes, where there are any."""
        found = {(p, s): self.mean((experiment, p, s), measure) for p in points for s in schemes}
        return {place: estimate for place, estimate in found.items() if estimate is not None}

    def of_experiment(self, *names: str) -> DataFrame:
        """Return those cases of some experiments that have measures."""
        return self.rows.filter(col("experiment").is_in(names), col("error").is_null())


def _measures(days: float) -> Iterator[Expr]:
    together = 100 * col("pairs.together") / col("pairs.pairs")
    yield polars.when(col("pairs.pairs") > 0).then(together).alias(TOGETHER)
    for machine in MACHINES:
        for measure, value in _of_machine(machine, days).items():
            yield value.cast(polars.Float64).alias(f"{machine} {measure}")


def _of_machine(m: str, days: float) -> dict[str, Expr]:
    long = col("experiment").is_in([LONG, LONG_NO_TIMER])
    capacity = col(f"{m}.nodes") * polars.when(long).then(col("point")).otherwise(days) * 24  # node-hours
    lost = col(f"{m}.held_node_seconds") / 3600
    return {
        WAIT: col(f"{m}.all.wait_s.mean") / 60,
        SLOWDOWN: col(f"{m}.all.slowdown.mean"),
        OTHERS_WAIT: col(f"{m}.unpaired.wait_s.mean") / 60,
        OTHERS_SLOWDOWN: col(f"{m}.unpaired.slowdown.mean"),
        SYNC: polars.when(col("schemes") != BASE).then(col(f"{m}.paired.sync_s.mean") / 60),
        LOSS: lost,
        LOSS_SHARE: 100 * lost / capacity,
        JOBS: col(f"{m}.jobs"),
        LOAD: col(f"{m}.offered_load"),
        PAIRED: 100 * col("pairs.pairs") / col(f"{m}.jobs"),
        NEVER: col(f"{m}.never_started"),
        LONGEST: col(f"{m}.queue_length.max"),
        "nodes": col(f"{m}.nodes"),
    }


def _usual(rows: DataFrame, sensitivities: Sequence[Sensitivity]) -> Iterator[DataFrame]:
    """Yield the rows for the usual value of each sensitivity: the case of V-D at a medium load, or of V-E."""
    for sensitivity in sensitivities:
        share = sensitivity.share
        of, point = (BY_LOAD, MEDIUM) if share is None else (BY_SHARE, share)
        usual = rows.filter(col("experiment") == of, col("point") == point)
        wanted = usual.filter(col("schemes").is_in([*sensitivity.schemes, BASE]))
        name, value = lit(sensitivity.name), lit(float(sensitivity.usual))
        yield wanted.with_columns(name.alias("experiment"), value.alias("point"))


def _with_differences(rows: DataFrame, own_base: set[str]) -> DataFrame:
    """Add to each compared measure its difference from the base on the same workload."""
    base_of = _base_places(own_base)
    columns = [f"{machine} {measure}" for machine in MACHINES for measure in COMPARED]
    bases = rows.filter(col("schemes") == BASE, col("error").is_null()).select(
        col("experiment").alias("base experiment"),
        col("point").alias("base point"),
        "replication",
        *(col(name).alias(f"{name} base") for name in columns),
    )
    keys = ["base experiment", "base point", "replication"]
    joined = rows.with_columns(base_of).join(bases, on=keys, how="left", maintain_order="left")
    extras = [(col(name) - col(f"{name} base")).alias(name + EXTRA) for name in columns]
    rises = [(100 * (col(f"{m} {WAIT}") / col(f"{m} {WAIT} base") - 1)).alias(f"{m} {WAIT_RISE}") for m in MACHINES]
    return joined.with_columns(extras + rises).drop(*keys[:2], *(f"{name} base" for name in columns))


def _base_places(own_base: set[str]) -> list[Expr]:
    """Return the experiment and the point of a case's base."""
    own, share = col("experiment").is_in([BY_LOAD, BY_SHARE, ALIKE, *own_base]), col("experiment") == LAST
    experiment = polars.when(own).then(col("experiment")).when(share).then(lit(BY_SHARE)).otherwise(lit(BY_LOAD))
    point = polars.when(own | share).then(col("point")).otherwise(MEDIUM)
    return [experiment.alias("base experiment"), point.alias("base point")]
