"""The fluid scheduler (fluid.md): running jobs change their size."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from cosched.core.allocation import Malleable
from cosched.core.coscheduling.holds import held_node_cap
from cosched.core.scheduling.capabilities import Capabilities
from cosched.core.scheduling.scheduler import ClusterJob, OpenScheduler
from cosched.core.settings import ReleaseOrder
from cosched.schedulers.column import LEAST_NODES, Column
from cosched.schedulers.kind import Ended, PlayedAlone, SchedulerKind, stated
from cosched.schedulers.waits import Waits, waits_for_nodes
from cosched.validation.sections import CoschedulingFields
from cosched.validation.types import Number, Seconds, Settings, Switch, Whole
from cosched.words.quantities import count, duration
from cosched_papers.fluid.settings import Distribution, FluidSettings, Harvesting
from cosched_papers.fluid.share import GATHERS

if TYPE_CHECKING:  # a service beside a batch system does without arrays
    from cosched_papers.fluid.machine import FluidJobs
    from cosched_sim.workload.columns import Columns
    from cosched_sim.workload.jobs import Ints, Workload

NO_ESTIMATE = "running jobs may give it some at its turn, so no start is estimated"
MODELS = ("linear", "parabolic")
RULES = ("harvesting", "distribution", "level", "resizes", "max_harvests", "protect_age", "benefit")


class FluidKeys(Settings):
    """By which rules jobs get and lose nodes, and how they change their size where a log does not say it."""

    harvesting: Annotated[
        Literal["never", "even", "fair", "long", "short", "low_impact"],
        Field(description="from whom nodes are taken: never, even, fair, long, short, low_impact (even)"),
    ] = "even"
    distribution: Annotated[
        Literal["favor_running", "favor_queued"], Field(description="favor_running, favor_queued (favor_running)")
    ] = "favor_running"
    level: Annotated[
        Annotated[Whole, Field(ge=0)] | None,
        Field(description="so many jobs are admitted even if others must give nodes (no limit)"),
    ] = None
    resizes: Annotated[Switch, Field(description="off: no job changes its size (on)")] = True
    max_harvests: Annotated[
        Annotated[Whole, Field(ge=0)] | None, Field(description="so often a job gives nodes (no limit)")
    ] = None
    protect_age: Annotated[Seconds, Field(description="no job younger than this gives any (0)")] = 0
    benefit: Annotated[Switch, Field(description="sizes change only if that is worth it (off)")] = False
    min_share: Annotated[
        Number,
        Field(
            gt=0,
            le=1,
            description="the share of its nodes to which a job can shrink, if the trace does not say it (0.5)",
        ),
    ] = Decimal("0.5")
    model: Annotated[Literal["linear", "parabolic"], Field(description="linear, parabolic, if the trace has none")] = (
        "linear"
    )
    resize_cost: Annotated[Seconds, Field(description="what a change of size costs a job (0)")] = 0


class FluidKind(SchedulerKind):
    """See SchedulerKind. Jobs are admitted in the order of submission: there are no scores, and nobody overtakes."""

    name = "fluid"
    purpose = "running jobs change their size, see docs/fluid.md"
    keys = FluidKeys
    without = ("mate_budget", "yield_boost")
    keys_of_logs = ("min_share", "model", "resize_cost")
    not_live = MappingProxyType({"min_share": "jobs say by themselves what is their least: submit them with --least"})
    capabilities = Capabilities(slots=True, resize=True)

    def settings(self, keys: FluidKeys, nodes: int, coscheduling: CoschedulingFields) -> FluidSettings:
        return FluidSettings(
            nodes=nodes,
            harvesting=Harvesting[keys.harvesting.upper()],
            distribution=Distribution(keys.distribution),
            level=keys.level,
            resizes=keys.resizes,
            max_harvests=keys.max_harvests,
            protect_age=keys.protect_age,
            benefit=keys.benefit,
            wanted_first=coscheduling.release_order is ReleaseOrder.WANTED,
            slots=coscheduling.meeting.slots,
            cap=held_node_cap(coscheduling.coscheduling_settings(), nodes),
        )

    def open(self, settings: FluidSettings) -> OpenScheduler:
        from cosched_papers.fluid.cluster import FluidCluster  # imports the compiler

        return FluidCluster(settings)

    # What users read

    def why(self, scheduler: OpenScheduler, job: ClusterJob, ahead: int, word: str) -> Waits:  # noqa: ARG002
        """See SchedulerKind; running jobs may give it nodes at its turn, so no start is estimated."""
        least = job.columns.least if job.columns else job.nodes
        if GATHERS in job.kept:
            return Waits(GATHERS, f"it needs {least:,} nodes, and waits until running jobs have left what they give it")
        told = waits_for_nodes(least, scheduler.free, ahead)
        needs = told.text.partition(", but")[0]
        return told._replace(text=f"{needs}; {NO_ESTIMATE}", change="submit it with a smaller --least")

    def facts(self, keys: FluidKeys, counts: Mapping[str, Any], ended: Ended) -> dict[str, Any]:
        """See SchedulerKind; the means are over the jobs that have ended."""
        fluid = {**{key: getattr(keys, key) for key in RULES}, **_times(ended), **counts}
        return {"policy": "fcfs", "backfill": "none", "node_pool": "flat", self.name: fluid}

    def words(self, facts: Mapping[str, Any]) -> list[str]:
        rules = facts[self.name]
        if not rules["resizes"]:
            return ["moldable: no job changes its size"]
        level = [] if rules["level"] is None else [f"level {rules['level']}"]
        return [f"fluid: {rules['harvesting']}, {rules['distribution']}", *level]

    def line(self, facts: Mapping[str, Any]) -> str:
        """Say how long jobs took, and how often they changed their size."""
        said = facts[self.name]
        times = f"mean run time {duration(said['mean_run_s'])}, from submission to end {duration(said['mean_total_s'])}"
        harvests = f"{count(said['harvests'], 'harvest')}, {said['harvests_refused']:,} not possible"
        gave = f"{count(said['jobs_harvested'], 'job')} gave nodes to others"
        return f"{times}; {said['changes_of_size']:,} changes of size; {harvests}; {gave}"

    # Jobs, and traces without mates

    def columns(self) -> Sequence[Column]:
        """See SchedulerKind: down to which size a job shrinks, its model, and what a resize costs, in s and bytes."""
        changes = "its size may be N to --nodes, and change as it runs"
        least = Column("min", _read_whole, help=changes, option=LEAST_NODES)
        model = Column.of_words("model", *MODELS, help="linear or parabolic (as the domain says)")
        cost = Column("resize_s", _read_seconds, str, 0, "for how long a change of size stops it (as the domain says)")
        data = Column("resize_bytes", _read_whole, str, 0, "the bytes on each node that a change of size moves (0)")
        return least, model, cost, data

    def complete(self, keys: FluidKeys, columns: Columns, nodes: Ints) -> Columns:
        from cosched_sim.workload.columns import least_nodes
        from cosched_sim.workload.jobs import LEAST

        count = len(nodes)
        return {
            LEAST: least_nodes(nodes, stated(columns, LEAST, count), Fraction(keys.min_share)),
            "model": stated(columns, "model", count, MODELS.index(keys.model)),
            "resize_s": stated(columns, "resize_s", count, keys.resize_cost),
            "resize_bytes": stated(columns, "resize_bytes", count, 0),
        }

    def jobs(self, keys: FluidKeys, workload: Workload, nodes: int) -> FluidJobs:  # noqa: ARG002
        from cosched_papers.fluid.machine import FluidJobs, check_jobs
        from cosched_sim.workload.jobs import LEAST

        jobs = FluidJobs(
            submit=workload.submit,
            least=workload.columns[LEAST],
            ideal=workload.nodes,
            run=workload.run,
            requested=workload.requested,
            parabolic=workload.columns["model"] == MODELS.index("parabolic"),
            fixed=workload.columns["resize_s"],
            data=workload.columns["resize_bytes"],
        )
        check_jobs(jobs, nodes)
        return jobs

    def submitted(self, keys: FluidKeys, said: Mapping[str, str]) -> Mapping[str, str]:
        """See SchedulerKind; without a least size, the job is rigid."""
        if said and LEAST_NODES not in said:
            raise ValueError(f"{next(iter(said))}: give {LEAST_NODES}, too: else the job keeps its size")
        given = {"model": keys.model, "resize_s": str(keys.resize_cost)} if said else {}
        return {**{name: text for name, text in given.items() if text not in ("linear", "0")}, **said}

    def read(self, said: Mapping[str, str]) -> Malleable | None:
        if LEAST_NODES not in said:
            return None
        found = super().read(said)
        return Malleable(found["min"], found["model"] == 1, found["resize_s"], found["resize_bytes"])

    def each(self, jobs: FluidJobs, count: int) -> Sequence[Malleable]:  # noqa: ARG002
        columns = (column.tolist() for column in (jobs.least, jobs.parabolic, jobs.fixed, jobs.data))
        return [
            Malleable(least, parabolic, fixed, data, jobs.tables.get(row))
            for row, (least, parabolic, fixed, data) in enumerate(zip(*columns, strict=True))
        ]

    def plays_traces(self, settings: FluidSettings) -> bool:  # noqa: ARG002
        return True

    def alone(self, settings: FluidSettings, jobs: FluidJobs) -> PlayedAlone:
        from cosched_papers.fluid.machine import FluidTrace

        trace = FluidTrace(settings, jobs)
        sizes = trace.run()
        records = trace.state.jobs
        return PlayedAlone(records["start"].copy(), records["end"].copy(), sizes, trace.counts(sizes)._asdict())

    def kernels(self) -> Mapping[str, Callable[[], None]]:
        from cosched_papers.fluid import warming

        return {
            "fluid": warming.use_kernels,
            "fluid-slots": warming.use_kernels_of_slots,
            "fluid-traces": warming.use_kernels_of_traces,
        }

    def needed(self, settings: FluidSettings, *, alone: bool = False) -> list[str]:
        return ["fluid-traces"] if alone else ["fluid", "fluid-slots"] if settings.slots else ["fluid"]


def _read_whole(text: str) -> int:
    from cosched_sim.workload.traces.values import whole

    return whole(text)


def _read_seconds(text: str) -> int:
    from cosched_sim.workload.traces.values import seconds

    return seconds(text)


def _times(ended: Ended) -> dict[str, Any]:
    if not len(ended.end):
        return {"mean_run_s": None, "mean_total_s": None, "jobs_per_hour": 0.0}
    return {
        "mean_run_s": float(ended.run.mean()),
        "mean_total_s": float((ended.end - ended.submit).mean()),
        "jobs_per_hour": 3600 * len(ended.end) / (int(ended.end.max()) - ended.first_submit),
    }


FLUID = FluidKind()
