"""The molding scheduler (molding.md): it chooses the size of a job when that starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from cosched.core.scheduling.policies.backfilling import BACKFILLING
from cosched.core.scheduling.scheduler import ClusterJob
from cosched.schedulers.column import UNKNOWN, Column
from cosched.schedulers.kind import Ended, PlayedAlone, SchedulerKind, stated
from cosched.schedulers.waits import Waits, waits_for_nodes
from cosched.validation.mistakes import KeyedError
from cosched.validation.sections import CoschedulingFields
from cosched.validation.text import shown
from cosched.validation.types import Backfill, Number, Settings, Whole
from cosched_papers.molding.columns import BOUNDS, CURVE, TIMES, columns, moldable
from cosched_papers.molding.curves import working_set
from cosched_papers.molding.foreseen import learned_future, read_future
from cosched_papers.molding.future import Future
from cosched_papers.molding.jobs import ANY, BY, MODIFIER, By, Moldable, Molded, Shares, check_sizes
from cosched_papers.molding.settings import CAPABILITIES, MoldingSettings, Sizing

if TYPE_CHECKING:  # a service beside a batch system does without arrays
    from cosched_papers.molding.cluster import Molding
    from cosched_papers.molding.machine import MoldingJobs
    from cosched_sim.workload.columns import Columns
    from cosched_sim.workload.jobs import Ints, Workload

STREAM = 0x6D6F6C64  # of random numbers, by which jobs are moldable: it depends on nothing else
OFF, TRAINED, PAST = "off", "trained", "past"
TRAINING = range(1_000_001, 1_000_011)  # the seeds of the workloads from which it is learned what to expect
OF_FIGURE_2 = ("ideal_load", "load_delta", "max_bad", "prediction")


def _sizes(value: object) -> object:
    if isinstance(value, Shares):
        return value
    least, _, most = str(value).partition("..")
    try:
        shares = Shares(Fraction(Decimal(least)), Fraction(Decimal(most)))
    except (ArithmeticError, ValueError):
        raise ValueError(f"two shares expected, such as 0.5..1, not {shown(str(value))}") from None
    if not (ANY.least <= shares.least <= shares.most <= ANY.most and shares.least <= 1):
        raise ValueError(f"{shown(str(value))}: the first must be from 0.5 to 1, the second from the first to 2")
    return shares


def _is_drawn(trace: object) -> bool:
    from cosched_sim.workload.generated import is_generated

    return is_generated(trace)


class MoldingKeys(Settings):
    """Who chooses the sizes of jobs, and how these change run times."""

    sizing: Annotated[
        Literal["scojo_p", "scojo", "cirne_berman", "none"],
        Field(description="how sizes are chosen: scojo_p, scojo, cirne_berman, none (scojo_p)"),
    ] = "scojo_p"
    speedup: Annotated[
        Literal["simple", "downey"], Field(description="how sizes change run times: simple, downey (simple)")
    ] = "simple"
    sizes: Annotated[
        Shares,
        BeforeValidator(_sizes),
        Field(description="from which to which share of its nodes a job may have, with speedup=simple (0.5..2)"),
    ] = ANY
    moldable_share: Annotated[
        Number, Field(ge=0, le=1, description="which share of jobs is moldable, if the trace does not say it (1)")
    ] = Decimal(1)
    ideal_load: Annotated[Number, Field(gt=0, description="scojo_p: the load to which sizes are chosen (0.9)")] = (
        Decimal("0.9")
    )
    load_delta: Annotated[Number, Field(ge=0, description="scojo_p: a load so near is good enough (0.01)")] = Decimal(
        "0.01"
    )
    max_bad: Annotated[
        Whole, Field(ge=1, description="scojo_p: so often in a row a load may be no better before the search ends (2)")
    ] = 2
    backfill: Annotated[
        Backfill, Field(description="easy; with cirne_berman and none it may be conservative (easy)")
    ] = "easy"
    prediction: Annotated[
        str,
        Field(
            description="scojo_p: trained, past, or FILE of the jobs that are expected, see docs/molding.md; off (off)"
        ),
    ] = OFF

    @model_validator(mode="after")
    def _of_this_sizing(self) -> Self:
        if getattr(self, "scheduler", MoldingKind.name) != MoldingKind.name:
            return self
        if self.backfill == "none":
            raise KeyedError(("backfill",), f"{MOLDING.title} always backfills: give easy or conservative")
        if self.backfill == "conservative" and self.sizing in ("scojo_p", "scojo"):
            others = "has meaning with sizing=cirne_berman and sizing=none only"
            raise KeyedError(("backfill",), f"conservative {others}: sizing={self.sizing} reserves one job")
        for key in OF_FIGURE_2 if self.sizing != "scojo_p" else ():
            if getattr(self, key) != MoldingKeys.model_fields[key].default:
                raise KeyedError((key,), f"sizing={self.sizing} does not use it: remove it")
        if self.sizes != ANY and (self.sizing == "none" or self.speedup != "simple"):
            why = "sizing=none" if self.sizing == "none" else "speedup=downey"
            raise KeyedError(("sizes",), f"{why} does not use it: remove it")
        self.expected_by_file()
        if self.prediction == TRAINED and not _is_drawn(getattr(self, "trace", None)):
            needs = "trained needs a generated trace, in a simulation: else give past, or a FILE"
            raise KeyedError(("prediction",), needs)
        return self

    def expected_by_file(self) -> Future | None:
        """Return what the FILE of `prediction` expects; None: it is not a file."""
        if self.prediction in (OFF, TRAINED, PAST):
            return None
        try:
            return read_future(self.prediction, curves=self.speedup == "downey")
        except ValueError as error:
            raise KeyedError(("prediction",), str(error)) from None


class MoldingKind(SchedulerKind):
    """See SchedulerKind."""

    name = "molding"
    purpose = "it chooses the sizes of jobs when they start, see docs/molding.md"
    keys = MoldingKeys
    shares = ("backfill",)
    without = ("mate_budget", "yield_boost", "release_order")
    keys_of_logs = ("moldable_share",)
    not_live = MappingProxyType({"moldable_share": "jobs say it by themselves: submit them with --moldable"})
    capabilities = CAPABILITIES

    def settings(self, keys: MoldingKeys, nodes: int, _: CoschedulingFields) -> MoldingSettings:
        sizing = Sizing(keys.sizing)
        load, delta = float(keys.ideal_load), float(keys.load_delta)
        learns, backfilling = keys.prediction == PAST, BACKFILLING[keys.backfill]
        future = self._future(keys)
        return MoldingSettings(nodes, sizing, load, delta, keys.max_bad, future, keys.sizes, learns, backfilling)

    def _future(self, keys: MoldingKeys) -> Future | None:
        if keys.prediction != TRAINED:
            return keys.expected_by_file()
        from cosched_sim.workload.columns import reading_of
        from cosched_sim.workload.job_log import JobLog, read_jobs

        assert isinstance(keys, JobLog)
        read = partial(read_jobs, keys, overrun="extend", has_pairs=False, reading=reading_of(self, keys))
        return learned_future([read(seed=seed)[0] for seed in TRAINING])

    def open(self, settings: MoldingSettings) -> Molding:
        from cosched_papers.molding.cluster import Molding  # imports the compiler

        return Molding(settings)

    # What users read

    def why(self, scheduler: Molding, job: ClusterJob, ahead: int, word: str) -> Waits:  # type: ignore[override]  # noqa: ARG002
        """See SchedulerKind: it needs its least size."""
        least = scheduler.least(job.id) if job.id in scheduler else job.nodes
        return waits_for_nodes(least, scheduler.free, ahead)

    def sized(self, job: ClusterJob) -> str:
        factor = f"sizes are {job.kept.get(MODIFIER, 1):.2f} times the best ones now, within the bounds of each job"
        words: Mapping[str, str] = {
            By.TARGET: factor,
            By.NOW: "these are all that were free, and on more it would end later",
            By.BEHIND: f"{factor}; jobs before it wait for nodes",
            By.CHOSEN: "chosen at its submission, as it would end first on these",
        }
        return words.get(job.kept.get(BY, ""), "")

    def facts(self, keys: MoldingKeys, counts: Mapping[str, Any], ended: Ended) -> dict[str, Any]:  # noqa: ARG002
        own = {key: getattr(keys, key) for key in MoldingKeys.model_fields if key not in self.shares}
        return {"policy": "classes", "backfill": keys.backfill, "node_pool": "flat", self.name: {**own, **counts}}

    def words(self, facts: Mapping[str, Any]) -> list[str]:
        rules = facts[self.name]
        backfilling = [f"{facts['backfill']} backfilling"] if facts["backfill"] != "easy" else []
        return [f"molding: sizing {rules['sizing']}", f"{rules['speedup']} speed-up", *backfilling]

    def line(self, facts: Mapping[str, Any]) -> str:
        counts = facts[self.name]
        return f"jobs on fewer nodes than they asked for: {counts['shrunk']:,}, on more: {counts['expanded']:,}"

    # Jobs

    def columns(self) -> Sequence[Column]:
        return columns()

    def complete(self, keys: MoldingKeys, columns: Columns, nodes: Ints) -> Columns:
        import numpy as np

        count = len(nodes)
        drawn = np.random.default_rng(STREAM).random(count) < float(keys.moldable_share)
        bounds = {name: stated(columns, name, count) for name in BOUNDS}
        said = stated(columns, "moldable", count)
        times = stated(columns, TIMES, count)
        said = np.where((said == UNKNOWN) & ((np.maximum(*bounds.values()) != UNKNOWN) | (times != UNKNOWN)), 1, said)
        curves = {name: stated(columns, name, count) for name in CURVE}
        chosen = np.where(said == UNKNOWN, drawn, said).astype(np.int64)
        return {"moldable": chosen, **bounds, **curves, TIMES: times}

    def adapted(self, keys: MoldingKeys, workload: Workload, nodes: int, seed: int) -> Workload:
        """See SchedulerKind: under Downey's speed-up jobs that say no curve have one drawn."""
        import numpy as np

        a, sigma, times = (workload.columns[name] for name in (*CURVE, TIMES))
        if keys.speedup != "downey":
            if (np.maximum(a, sigma) == UNKNOWN).all():
                return workload
            none = dict.fromkeys(CURVE, np.full(len(workload), UNKNOWN, np.int64))
            said = f"{workload.source}: downey_a and downey_sigma count with speedup=downey only: they are not used"
            return replace(workload, columns={**workload.columns, **none}, remarks=(*workload.remarks, said))
        without = (workload.columns["moldable"] == 1) & (a == UNKNOWN) & (sigma == UNKNOWN) & (times == UNKNOWN)
        if not without.any():
            return workload
        from cosched_papers.molding.drawn_curves import with_curves

        said = f"{workload.source}: moldable jobs without a curve: {without.sum():,}; each has one drawn"
        return replace(with_curves(workload, without, nodes, seed), remarks=(*workload.remarks, said))

    def jobs(self, keys: MoldingKeys, workload: Workload, nodes: int) -> MoldingJobs:
        names = (column.name for column in self.columns())
        said = zip(*(workload.columns[name].tolist() for name in names), strict=True)
        hows = []
        for row, values in enumerate(said):
            try:
                hows.append(moldable(*values))
            except ValueError as error:
                raise ValueError(f"job {workload.job_id[row]}: {error}") from None
        return molded(workload, hows, nodes, keys.sizes)

    def each(self, jobs: MoldingJobs | None, count: int) -> Sequence[Moldable | None]:
        return [None] * count if jobs is None else [job.how for job in jobs.jobs]

    def plays_traces(self, settings: MoldingSettings) -> bool:
        """See SchedulerKind: what is foreseen does not change meanwhile."""
        return not settings.learns

    def alone(self, settings: MoldingSettings, jobs: MoldingJobs) -> PlayedAlone:
        from cosched_papers.molding.machine import MoldingTrace

        trace = MoldingTrace(settings, jobs)
        sizes, rows = trace.run(), trace.state.jobs
        return PlayedAlone(rows["start"].copy(), rows["end"].copy(), sizes, trace.counts())

    def kernels(self) -> Mapping[str, Callable[[], None]]:
        from cosched_papers.molding import warming

        return {"molding": warming.use_kernels, "molding-traces": warming.use_kernels_of_traces}

    def needed(self, settings: MoldingSettings, *, alone: bool = False) -> list[str]:  # noqa: ARG002
        return ["molding-traces"] if alone else ["molding"]

    def submitted(self, keys: MoldingKeys, said: Mapping[str, str]) -> Mapping[str, str]:
        for name in CURVE if keys.speedup != "downey" else ():
            if name in said:
                raise ValueError(f"{name}: jobs here have the simple speed-up curve, which does not use it: remove it")
        moldable(*super().read(said).values(), needs_curve=keys.speedup == "downey")
        return said

    def read(self, said: Mapping[str, str]) -> Moldable | None:
        return moldable(*super().read(said).values())

    def best_size(self, said: Mapping[str, str], least: int, most: int) -> int:
        """See SchedulerKind: N_PWS, by its run times or by its curve of Downey's."""
        how = self.read({"moldable": "1", **said})
        if how is None or how.curve is None:
            return 0
        least, most = max(least, how.curve.least), min(most, how.curve.most)
        return working_set(how.curve, least, most) if least <= most else least


def molded(workload: Workload, hows: Sequence[Moldable | None], nodes: int, sizes: Shares = ANY) -> MoldingJobs:
    """Return jobs of a machine of so many nodes; ValueError names one that cannot run there."""
    from cosched_papers.molding.machine import MoldingJobs

    jobs = []
    columns = (workload.job_id, workload.nodes, workload.requested, workload.submit)
    rows = zip(*(column.tolist() for column in columns), hows, strict=True)
    for id, size, requested, submit, how in rows:
        try:
            job = ClusterJob(str(id), size, requested, submit, paired=False, columns=how)
            check_sizes(job, nodes, sizes)
            jobs.append(Molded.of(job, nodes, sizes))
        except ValueError as error:
            raise ValueError(f"job {id}: {error}") from None
    return MoldingJobs(jobs, workload.run)


MOLDING = MoldingKind()
