"""`cosched trace`: look at job logs, convert, generate and pair them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cosched import __version__
from cosched.cli.options import DOMAIN_HELP, replay_options, replay_settings
from cosched.cli.terminal import progress, say, show, show_json
from cosched.durations import parse_window
from cosched.errors import InputError

if TYPE_CHECKING:
    from sim.workload import TraceLog, Workload

Command = TypeVar("Command", bound=Callable[..., Any])
Bounds = tuple[int | None, int | None]

FORMATS = ("swf", "accounting", "sacct", "csv")
DAY_S = 86_400


def _window(_context: click.Context, _option: click.Parameter, text: str | None) -> Bounds | None:
    try:
        return None if text is None else parse_window(text)
    except ValueError as error:
        raise InputError("--cut", None, str(error)) from None


def _factor(_context: click.Context, option: click.Parameter, text: str | None) -> Fraction | None:
    """An exact number above 0."""
    try:
        factor = None if text is None else Fraction(text)
    except (ValueError, ZeroDivisionError):
        factor = Fraction(0)
    if factor is not None and not 0 < factor <= 10**9:
        raise InputError(option.opts[0], None, f"{text!r} is not a number above 0")
    return factor


READING = (
    click.option("--format", "form", type=click.Choice(FORMATS), help="Default: told by the first line."),
    click.option("--nodes", type=click.IntRange(1, 10**9), help="Size of the machine (default: stated by the log)."),
    click.option("--procs-per-node", type=click.IntRange(1, 10**9), default=1, help="Processors that make a node (1)."),
    click.option("--cut", callback=_window, metavar="START..END", help="Only what is submitted then, as 0..20d."),
    click.option("--overrun", type=click.Choice(["extend", "kill"]), default="extend", help="Jobs past their request."),
)


def _reading_options(command: Command) -> Command:
    for option in reversed(READING):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class _Machine:
    """A log as READING's options want it."""

    log: TraceLog
    nodes: int | None
    procs_per_node: int
    overrun: Any

    def workload(self) -> Workload:
        """The jobs that the machine can run; a machine of unknown size is as large as its largest job."""
        from sim.traces import clean

        largest = int(max(self.log.requested_procs.max(), self.log.allocated.max(), 1))
        return clean(self.log, self.nodes or largest, self.procs_per_node, self.overrun)


def _read(path: str, form: str | None, nodes: int | None, procs_per_node: int, cut: Bounds | None, overrun: str) -> _Machine:
    from sim import traces

    log = traces.read_trace(path, form)
    if cut is not None:
        try:
            log = traces.cut(log, *cut)
        except ValueError as error:
            raise InputError("--cut", None, str(error)) from None
    return _Machine(log, nodes or traces.machine_nodes(log, procs_per_node), procs_per_node, overrun)


@click.group(short_help="Look at job logs, convert, generate and pair them.")
def trace() -> None:
    """Look at job logs, convert, generate and pair them.

    Logs are read in the Standard Workload Format, as Cobalt or PBS accounting logs, as output of `sacct
    --parsable2`, or as CSV with the columns job_id, submit, run, nodes or procs; plain or gzip; - is standard input.
    """


@trace.command(short_help="What is in a job log.")
@click.argument("path", metavar="FILE")
@_reading_options
@click.option("--json", "as_json", is_flag=True, help="Print the facts as JSON.")
def info(path: str, as_json: bool, **reading: Any) -> None:
    """Show jobs, span, machine, load, what a replay would leave out, and how sizes and times are distributed."""
    from sim.traces.facts import facts

    machine = _read(path, **reading)
    found = facts(machine.log, machine.workload(), machine.nodes)
    if as_json:
        show_json(found)
        return
    from cosched.cli.tables import facts_tables

    show(*facts_tables(found))


@trace.command(short_help="Write a job log as SWF.")
@click.argument("path", metavar="IN")
@click.argument("target", metavar="OUT")
@_reading_options
@click.option("--clean", "cleaned", is_flag=True, help="Only jobs that can be run, in nodes, as a replay takes them.")
@click.option("--scale", callback=_factor, metavar="FACTOR", help="Multiply the times between arrivals.")
@click.option("--load", callback=_factor, metavar="LOAD", help="Scale the arrivals to this offered load.")
def convert(path: str, target: str, cleaned: bool, scale: Fraction | None, load: Fraction | None, **reading: Any) -> None:
    """Write the job log IN, in any format, to OUT in the Standard Workload Format (gzip if OUT ends in .gz)."""
    from sim import traces
    from sim.staging import writing

    if scale is not None and load is not None:
        raise click.UsageError("--scale and --load exclude each other.")
    machine = _read(path, **reading)
    jobs: TraceLog | Workload = machine.log
    if cleaned:
        jobs = machine.workload()
        for message in traces.left_out_messages(jobs):
            say(message)
    jobs = _scaled(jobs, machine, scale, load)
    with writing(target):
        traces.write_swf(jobs, target, _header(machine, cleaned))
    if target != "-":
        say(f"{target}: {len(jobs):,} jobs")


def _scaled(
    jobs: TraceLog | Workload, machine: _Machine, factor: Fraction | None, load: Fraction | None
) -> TraceLog | Workload:
    from sim import traces

    try:
        if load is not None:
            if machine.nodes is None:
                raise InputError("--load", None, "needs --nodes: the log does not state the machine's size")
            factor = Fraction(traces.offered_load(machine.workload(), machine.nodes)) / load
        return jobs if factor is None else traces.scale(jobs, factor)
    except ValueError as error:
        raise InputError("--scale" if load is None else "--load", None, str(error)) from None


def _header(machine: _Machine, cleaned: bool) -> dict[str, str]:
    """The log's header, with the machine's size if it is known, and what cleaning did."""
    header = dict(machine.log.header)
    if machine.nodes is not None:
        per_node = 1 if cleaned else machine.procs_per_node
        stated = header.get("MaxProcs") if not cleaned else None
        header |= {"MaxNodes": str(machine.nodes), "MaxProcs": stated or str(machine.nodes * per_node)}
    if cleaned:
        note = f"cleaned by cosched {__version__}: jobs that can be run, sizes in nodes"
        header["Note"] = "\n".join(filter(None, [header.get("Note"), note]))
    return header


@trace.command(short_help="Draw a workload like a machine's.")
@click.argument("machine", type=click.Choice(["intrepid", "eureka"]))
@click.argument("target", metavar="OUT")
@click.option("--jobs", type=int, metavar="N", help="Number of jobs.")
@click.option("--days", type=float, metavar="D", help="From the first to the last submission (30).")
@click.option("--utilisation", type=float, metavar="U", help="Offered load (0.75 for intrepid, 0.5 for eureka).")
@click.option("--seed", type=int, default=0, metavar="S", help="The same seed draws the same jobs (0).")
def generate(
    machine: Any, target: str, jobs: int | None, days: float | None, utilisation: float | None, seed: int
) -> None:
    """Draw a workload like Intrepid's or Eureka's and write it to OUT as SWF (gzip if OUT ends in .gz).

    What is not given of jobs, days and utilisation follows from the rest.
    """
    from sim.generate import generate, swf_header
    from sim.machine_models import MODELS
    from sim.staging import writing
    from sim.traces import write_swf

    if days is not None and not 0 < days < 10**6:
        raise InputError("--days", None, f"{days:g} is not a number of days above 0")
    span_s = None if days is None else max(1, round(days * DAY_S))
    workload = generate(machine, jobs=jobs, span_s=span_s, utilisation=utilisation, seed=seed)
    with writing(target):
        write_swf(workload, target, swf_header(machine, MODELS[machine].nodes, seed))
    if target != "-":
        say(f"{target}: {len(workload):,} jobs")


@trace.command(short_help="Write a file of pairs.", epilog=DOMAIN_HELP)
@replay_options(pairs_file=False)
@click.argument("target", metavar="OUT")
def pair(target: str, domains: tuple[str, ...], config: str | None, **options: Any) -> None:
    """Pair the jobs of two domains, by a window or a fraction, and write the pairs to OUT.

    The domains are given as to `cosched replay`, which with --pairs OUT then makes the same pairs.
    """
    from sim.pairing import write_pairs
    from sim.replaying import pair_jobs, read_machine
    from sim.staging import writing

    settings = replay_settings(domains, config, **options)
    if settings.pair_window is None and settings.pair_fraction is None:
        raise click.UsageError("Give --pair-window or --pair-fraction.")
    with progress("reading ..."):
        workloads = [read_machine(domain, settings)[0] for domain in settings.domains]
        pairing = pair_jobs(settings, workloads)
    names = [domain.name for domain in settings.domains]
    with writing(target):
        write_pairs(target, names, workloads, pairing)
    counts = " and ".join(f"{len(workload):,} of {name}" for name, workload in zip(names, workloads, strict=True))
    say(f"{'' if target == '-' else f'{target}: '}{len(pairing):,} pairs among the jobs, {counts}")
