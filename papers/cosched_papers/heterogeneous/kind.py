"""The heterogeneous scheduler (docs/heterogeneous.md): a job runs on one of unlike machines, or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from cosched.core.scheduling.scheduler import ClusterJob
from cosched.schedulers.column import Column
from cosched.schedulers.kind import Ended, SchedulerKind
from cosched.validation.mistakes import KeyedError
from cosched.validation.sections import CoschedulingFields
from cosched.validation.types import Settings
from cosched_papers.heterogeneous.jobs import Classed, Priority
from cosched_papers.heterogeneous.settings import CAPABILITIES, Algorithm, HeterogeneousSettings
from cosched_papers.heterogeneous.site_files import read_site, read_times

if TYPE_CHECKING:  # a service beside a batch system does without arrays
    from cosched_papers.heterogeneous.scheduler import Heterogeneous
    from cosched_sim.workload.jobs import Workload


JOB_CLASS = Column("job_class", str, help="its class, which says how long it runs on which machine", whole=False)
PRIORITIES = (Priority.MEDIUM, Priority.HIGH, Priority.LOW)  # the first is that of jobs that say nothing
PRIORITY = Column.of_words(
    "priority", *(priority.name.lower() for priority in PRIORITIES), help="high, medium, low (medium)"
)


class HeterogeneousKeys(Settings):
    """The machines, how long jobs run on them, and what places jobs."""

    site: Annotated[str | None, Field(description="FILE of the machines and clusters, see docs/heterogeneous.md")] = (
        None
    )
    times: Annotated[str | None, Field(description="FILE of how long job classes run where")] = None
    algorithm: Annotated[
        Literal["olb", "met", "mct", "min_min", "max_min", "sufferage", "sjs", "pjs", "genetic"],
        Field(description="what places jobs: olb, met, mct, min_min, max_min, sufferage, sjs, pjs, genetic (pjs)"),
    ] = "pjs"
    on_failure: Annotated[
        Literal["stop", "next"],
        Field(description="pjs: stop at the first job that no cluster improves, or try the next (stop)"),
    ] = "stop"

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if getattr(self, "scheduler", None) != HeterogeneousKind.name:
            return self
        if self.on_failure != "stop" and self.algorithm != "pjs":
            raise KeyedError(("on_failure",), f"algorithm={self.algorithm} does not use it: remove it")
        for key in ("site", "times"):
            if getattr(self, key) is None:
                raise KeyedError((key,), f"missing: give {key}=FILE, see docs/heterogeneous.md")
        up, nodes = self.rules().nodes, getattr(self, "nodes", None)
        if nodes not in (None, up):
            raise KeyedError(("nodes",), f"{up} machines of the site are up, not {nodes}: remove it")
        return self

    def rules(self) -> HeterogeneousSettings:
        """Return what the keys and their files say; InputError."""
        assert self.site is not None
        assert self.times is not None
        site = read_site(self.site)
        times = read_times(self.times, site)
        return HeterogeneousSettings(site, times, Algorithm(self.algorithm), self.on_failure == "next")


class HeterogeneousKind(SchedulerKind):
    """See SchedulerKind."""

    name = "heterogeneous"
    purpose = "unlike machines and clusters of them, by learned times, see docs/heterogeneous.md"
    keys = HeterogeneousKeys
    without = ("mate_budget", "yield_boost", "release_order")
    implied = MappingProxyType({"run": "1", "nodes": "1"})
    capabilities = CAPABILITIES

    def size(self, keys: HeterogeneousKeys) -> int:
        """See SchedulerKind: the machines that are up."""
        return keys.rules().nodes

    def names(self, keys: HeterogeneousKeys) -> list[str]:
        """See SchedulerKind: the machines that are up."""
        site = keys.rules().site
        return [machine.name for number, machine in enumerate(site.machines) if number not in site.down]

    def settings(self, keys: HeterogeneousKeys, nodes: int, coscheduling: CoschedulingFields) -> HeterogeneousSettings:
        settings = replace(keys.rules(), slots=coscheduling.meeting.slots)
        if nodes != settings.nodes:
            raise KeyedError(("site",), f"{settings.nodes} machines are up, but the domain has {nodes} nodes")
        return settings

    def open(self, settings: HeterogeneousSettings) -> Heterogeneous:
        from cosched_papers.heterogeneous.scheduler import Heterogeneous

        return Heterogeneous(settings)

    def kernels(self) -> Mapping[str, Callable[[], None]]:
        from cosched_papers.heterogeneous import warming

        return {self.name: warming.use_kernels}

    # What users read

    def facts(self, keys: HeterogeneousKeys, counts: Mapping[str, Any], ended: Ended) -> dict[str, Any]:  # noqa: ARG002
        own = {key: getattr(keys, key) for key in HeterogeneousKeys.model_fields}
        return {"policy": "priority", "backfill": "none", "node_pool": "named", self.name: {**own, **counts}}

    def words(self, facts: Mapping[str, Any]) -> list[str]:
        return [f"heterogeneous: {facts[self.name]['algorithm']}"]

    def line(self, facts: Mapping[str, Any]) -> str:
        counts = facts[self.name]
        told = f"starts on clusters: {counts['parallel']:,}, preempted: {counts['preempted']:,}"
        return f"{told}, placed anew for jobs of high priority: {counts['displaced']:,}"

    # Jobs

    def adapted(self, keys: HeterogeneousKeys, workload: Workload, nodes: int, seed: int) -> Workload:  # noqa: ARG002
        if not keys.rules().site.users:
            return workload
        said = f"{keys.site}: users may use only what it lets them, which is not looked at: jobs of logs have no users"
        return replace(workload, remarks=(*workload.remarks, said))

    def columns(self) -> Sequence[Column]:
        return JOB_CLASS, PRIORITY

    def jobs(self, keys: HeterogeneousKeys, workload: Workload, nodes: int) -> Sequence[Classed]:  # noqa: ARG002
        scheduler = self.open(keys.rules())
        classes, priorities = (workload.columns[column.name].tolist() for column in self.columns())
        said = [_classed(*row) for row in zip(classes, priorities, strict=True)]
        for row, job in enumerate(said):
            id = str(workload.job_id[row])
            try:
                scheduler.check(ClusterJob(id, 1, 1, 0, paired=False, columns=job))
            except ValueError as error:
                raise ValueError(f"job {id}: {error}") from None
        return said

    def each(self, jobs: Any, count: int) -> Sequence[Classed]:
        return [Classed("")] * count if jobs is None else jobs

    def read(self, said: Mapping[str, str]) -> Classed:
        found = super().read(said)
        return _classed(found[JOB_CLASS.name], found[PRIORITY.name])


def _classed(job_class: Any, priority: int) -> Classed:
    return Classed(JOB_CLASS.write(job_class), PRIORITIES[priority])


HETEROGENEOUS = HeterogeneousKind()
