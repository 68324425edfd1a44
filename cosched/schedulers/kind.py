"""What a scheduler brings beside its rules, as one value. All other code asks it, and knows no scheduler by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from cosched.core.scheduling.capabilities import Capabilities
from cosched.core.scheduling.scheduler import ClusterJob, OpenScheduler
from cosched.schedulers.column import UNKNOWN, Column
from cosched.schedulers.waits import Waits, waits_for_nodes
from cosched.validation.sections import CoschedulingFields
from cosched.validation.text import shown
from cosched.validation.types import Settings

if TYPE_CHECKING:  # a service beside a batch system does without arrays
    import numpy as np
    from numpy.typing import NDArray

    from cosched.core.scheduling.primitives.sizes import Sizes

    Ints = NDArray[np.int64]
    Columns = Mapping[str, NDArray[Any]]  # by name, one row a job; UNKNOWN where the log says nothing


class MachineSettings(Protocol):
    """The settings of a scheduler for one machine, as its rules take them."""

    @property
    def nodes(self) -> int:
        """The size of the machine."""

    @property
    def slots(self) -> bool:
        """Whether jobs are given slots, instants at which they start with their mates."""


class PlayedAlone(NamedTuple):
    """What came of a trace without mates, one row a job in trace order; `counts`: what `facts` is to tell."""

    start: Ints
    end: Ints
    sizes: Sizes
    counts: Mapping[str, Any]


class Ended(NamedTuple):
    """The jobs of a domain that have ended, one row each, in seconds; `first_submit` is that of all jobs."""

    submit: Ints
    run: Ints
    end: Ints
    first_submit: int


class SchedulerKind(ABC):
    """One kind of scheduler.

    `keys` are those of a domain that only this kind has, or that it `shares` with another one whose values they have,
    too, with their help as descriptions. `without`: see `refused`.
    """

    name: ClassVar[str]
    purpose: ClassVar[str]  # what it does with jobs, in a few words
    keys: ClassVar[type[Settings]]
    shares: ClassVar[tuple[str, ...]] = ()
    without: ClassVar[tuple[str, ...]] = ()
    keys_of_logs: ClassVar[tuple[str, ...]] = ()  # those that say of jobs what their log does not
    implied: ClassVar[Mapping[str, str]] = {}  # columns that a CSV log need not have, and what all jobs then have there
    not_live: ClassVar[Mapping[str, str]] = {}  # those that only replays have, each with the reason
    only_live: ClassVar[Mapping[str, str]] = {}  # those that replays do not have, such as one about owners: likewise
    capabilities: ClassVar[Capabilities] = Capabilities()
    of_batch_systems: ClassVar[bool] = False  # it stands for those that schedule by themselves; no key chooses it

    @property
    def refused(self) -> Sequence[str]:
        """The keys of all domains that mean nothing to it: `without`, and what it cannot do."""
        return self.without if self.capabilities.slots else (*self.without, "slots")

    @property
    def title(self) -> str:
        """What messages call such a scheduler."""
        return f"{'an' if self.name[0] in 'aeiou' else 'a'} {self.name} scheduler"

    def size(self, keys: Any) -> int | None:  # noqa: ARG002
        """Return how many nodes the machine has, if that follows from its keys."""
        return None

    def names(self, keys: Any) -> Sequence[str]:  # noqa: ARG002
        """Return what it calls the nodes of the machine, in order; empty: what the resource manager does."""
        return ()

    @abstractmethod
    def settings(self, keys: Any, nodes: int, coscheduling: CoschedulingFields) -> MachineSettings:
        """Return the settings for a machine of so many nodes; KeyedError if these do not fit it."""

    @abstractmethod
    def open(self, settings: Any) -> OpenScheduler:
        """Return a scheduler whose jobs come and go."""

    def facts(self, keys: Any, counts: Mapping[str, Any], ended: Ended) -> dict[str, Any]:  # noqa: ARG002
        """Return what is special to a domain's part of a summary, which has the values as `json_value` makes them.

        That is `policy`, `backfill` and `node_pool`; all else stands under the name of the kind.
        """
        own = {key: getattr(keys, key) for key in self.keys.model_fields} | dict(counts)
        return {"policy": self.name, "backfill": "none", "node_pool": "flat", self.name: own}

    def words(self, facts: Mapping[str, Any]) -> list[str]:
        """Return the rules in words, from a domain's part of a summary."""
        return [self.name] if facts else []

    def line(self, facts: Mapping[str, Any]) -> str | None:  # noqa: ARG002
        """Return what a table of results says beside the common lines, from a domain's part of a summary."""
        return None

    def why(self, scheduler: OpenScheduler, job: ClusterJob, ahead: int, word: str) -> Waits:  # noqa: ARG002
        """Return why a queued job waits; `ahead`: for so many before it; `word`: a batch system's own."""
        return waits_for_nodes(job.nodes, scheduler.free, ahead)

    def sized(self, job: ClusterJob) -> str:  # noqa: ARG002
        """Return why a job that has nodes has so many, if that was chosen for it; else empty."""
        return ""

    # Jobs that say more than their size and time

    def columns(self) -> Sequence[Column]:
        """Return what this kind reads of a job beside that, in a CSV log and in a submission."""
        return ()

    def complete(self, keys: Any, columns: Columns, nodes: Ints) -> Columns:  # noqa: ARG002
        """Return all columns of jobs of these sizes; a log states some of them (see `stated`)."""
        return {known.name: stated(columns, known.name, len(nodes), known.default) for known in self.columns()}

    def adapted(self, keys: Any, workload: Any, nodes: int, seed: int) -> Any:  # noqa: ARG002
        """Return complete jobs as they are for a machine of so many nodes; what this changes is told in `remarks`.

        `workload`: a `cosched_sim.workload.jobs.Workload`, of the simulator that asks.
        """
        return workload

    def jobs(self, keys: Any, workload: Any, nodes: int) -> Any:  # noqa: ARG002
        """Return the jobs of a trace as `alone` and `each` take them; ValueError if one cannot be counted."""
        return workload

    def each(self, jobs: Any, count: int) -> Sequence[Any]:
        """Return for each of these jobs what its ClusterJob has as `columns`."""
        names = [known.name for known in self.columns()]
        if not names or jobs is None:  # they were never asked for columns
            return [{}] * count
        rows = zip(*(jobs.columns[name].tolist() for name in names), strict=True)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def written(self, columns: Columns, count: int) -> Sequence[Mapping[str, str]]:
        """Return what each of so many jobs says, as text by `Column.asked`."""
        rows: list[dict[str, str]] = [{} for _ in range(count)]
        for known in self.columns():
            for row, value in zip(rows, columns[known.name].tolist(), strict=True):
                if value != known.default:
                    row[known.asked] = known.write(value)
        return rows

    def submitted(self, keys: Any, said: Mapping[str, str]) -> Mapping[str, str]:  # noqa: ARG002
        """Return what is put on record of what a submission says, as text by `Column.asked`: with the domain's keys."""
        return said

    def own_texts(self, said: Mapping[str, str]) -> Mapping[str, str]:
        """Return what is said, each as the text of its own value; ValueError names one that cannot be read."""
        columns = {known.asked: known for known in self.columns()}
        return {name: _own_text(columns[name], text) if name in columns else text for name, text in said.items()}

    def read(self, said: Mapping[str, str]) -> Any:
        """Return what a ClusterJob has as `columns`, from a job's record; ValueError names the one that is wrong."""
        return {
            known.name: known.read_named(said[known.asked]) if known.asked in said else known.default
            for known in self.columns()
        }

    def best_size(self, said: Mapping[str, str], least: int, most: int) -> int:  # noqa: ARG002
        """Return the best size from `least` to `most`, by the run times that a submission says; 0: it says none.

        ValueError names what is wrong in it.
        """
        return 0

    def plays_traces(self, settings: Any) -> bool:  # noqa: ARG002
        """Return whether `alone` plays a trace with these settings."""
        return False

    def alone(self, settings: Any, jobs: Any) -> PlayedAlone:
        """Play a trace without mates in one compiled loop, which must do what `open` would.

        A loop is worth its lines: those of fluid and molding take a two-hundredth of the time of `open`.
        """
        raise NotImplementedError

    # What is compiled

    def kernels(self) -> Mapping[str, Callable[[], None]]:
        """Return the sets of compiled kernels by name: functions that use each of these once."""
        return {}

    def needed(self, settings: Any, *, alone: bool = False) -> list[str]:  # noqa: ARG002
        """Return the sets that `open`, or else `alone`, needs with these settings."""
        return list(self.kernels())


def stated(columns: Columns, name: str, jobs: int, otherwise: int = UNKNOWN) -> NDArray[Any]:
    """Return a column of so many jobs; `otherwise` stands where the log says nothing."""
    import numpy as np

    if name not in columns:
        return np.full(jobs, otherwise, np.int64)
    return np.where(columns[name] == UNKNOWN, otherwise, columns[name])


def _own_text(column: Column, text: str) -> str:
    if own := column.write(column.read_named(text)):
        return own
    raise ValueError(f"{column.asked}: {shown(text)} says nothing: remove it")
