"""Options of the commands that read one job log, and the reading itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cosched.validation.durations import parse_window
from cosched.words.errors import InputError
from cosched_sim.workload.log_options import RUNS, LogOptions, check_timezone, parse_columns, parse_partition_limit

if TYPE_CHECKING:
    from cosched.schedulers.column import Column
    from cosched_sim.workload.jobs import TraceLog, Workload

Command = TypeVar("Command", bound=Callable[..., Any])
Bounds = tuple[int | None, int | None]

FORMATS = ("swf", "accounting", "sacct", "csv")
MOST = 10**9  # nodes


def _parsed(parse: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return the callback of an option whose value is parsed so; InputError names the option."""

    def callback(_context: click.Context, option: click.Parameter, given: Any) -> Any:
        try:
            return None if given is None else parse(given)
        except ValueError as error:
            raise InputError(option.opts[0], None, str(error)) from None

    return callback


@_parsed
def _limits(texts: tuple[str, ...]) -> dict[str, int]:
    return parse_partition_limit(",".join(texts)) if texts else {}


@_parsed
def _count(number: int) -> int:
    if not 1 <= number <= MOST:
        raise ValueError(f"{number} is not from 1 to {MOST}")
    return number


OPTIONS = (
    click.option("--format", "form", type=click.Choice(FORMATS), help="Format of the log (as its first line shows)."),
    click.option("--nodes", type=int, callback=_count, metavar="N", help="Size of the machine (as the log says)."),
    click.option(
        "--procs-per-node", type=int, callback=_count, default=1, metavar="K", help="Processors of a node (1)."
    ),
    click.option(
        "--cut", callback=_parsed(parse_window), metavar="START..END", help="Only jobs submitted then, as 0..20d."
    ),
    click.option(
        "--overrun",
        type=click.Choice(["extend", "kill"]),
        default="extend",
        help="Jobs that ran past their request: extend it, or kill them (extend).",
    ),
    click.option(
        "--skip-bad",
        type=click.IntRange(min=0),
        default=0,
        metavar="N",
        help="Skip up to N lines in error (0: refuse).",
    ),
    click.option(
        "--columns", callback=_parsed(parse_columns), metavar="NAME,...", help="Columns of a log that has no header."
    ),
    click.option(
        "--timezone", callback=_parsed(check_timezone), metavar="ZONE", help="Zone of times that name none (UTC)."
    ),
    click.option(
        "--runs",
        type=click.Choice(RUNS),
        default="last",
        help="Of requeued jobs: their last run, or all runs as jobs (last).",
    ),
    click.option(
        "--partition-limit",
        callback=_limits,
        multiple=True,
        metavar="NAME=TIME",
        help="Requested time, in a partition or queue (*: others), of jobs without a limit (the longest in the log).",
    ),
)


def reading_options(command: Command) -> Command:
    """Add the options whose values `read` takes."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class Source:
    """A log and its machine. `nodes` is the machine's size as given, else as the log states it, else None."""

    log: TraceLog
    nodes: int | None
    nodes_given: bool
    procs_per_node: int
    overrun: Any

    def workload(self) -> Workload:
        """Return the jobs that the machine can run; a machine of unknown size is as large as its largest job."""
        from cosched_sim.workload.traces import clean

        largest = int(max(self.log.requested_procs.max(), self.log.allocated.max(), 1))
        return clean(self.log, self.nodes or largest, self.procs_per_node, self.overrun)


def read(
    path: str,
    form: str | None,
    nodes: int | None,
    procs_per_node: int,
    cut: Bounds | None,
    overrun: str,
    more: Sequence[Column] = (),
    **options: Any,
) -> Source:
    """Read a log as the options say, or draw one with seed 0, if it states no other; InputError.

    `more`: see `read_table`. `options`: those of a LogOptions, None where not given.
    """
    from cosched_sim.workload import traces
    from cosched_sim.workload.generated import is_generated

    if is_generated(path):
        log = drawn(path, 0)
    else:
        given = {key: value for key, value in options.items() if value is not None}
        log = traces.read_trace(path, form, more, options=LogOptions(**given))
    if cut is not None:
        try:
            log = traces.cut(log, *cut)
        except ValueError as error:
            raise InputError("--cut", None, str(error)) from None
    stated = traces.machine_nodes(log, procs_per_node)
    return Source(log, nodes or stated, nodes is not None, procs_per_node, overrun)


def drawn(trace: str, seed: int) -> TraceLog:
    """Draw the jobs of a trace that is not a file; InputError."""
    from cosched_sim.workload.generated import parse_generated, read_generated

    try:
        parse_generated(trace)
    except ValueError as error:
        raise InputError("TRACE", None, str(error)) from None
    return read_generated(trace, seed, "TRACE")
