"""`cosched trace`: look at job logs, convert, generate and pair them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cosched import __version__
from cosched.cli.output.terminal import progress, say, show, show_json
from cosched.schedulers.column import UNKNOWN
from cosched.words.errors import InputError
from cosched_sim.commands.options import DOMAIN_HELP, DomainCommand, replay_options
from cosched_sim.commands.reading import Source, drawn, read, reading_options
from cosched_sim.flags import replay_settings

if TYPE_CHECKING:
    from cosched.schedulers.column import Column
    from cosched_sim.workload.jobs import TraceLog, Workload

DAY_S = 86_400
MOST_DAYS = 10**6


@click.group(short_help="Look at job logs, convert, generate and pair them.")
def trace() -> None:
    """Look at job logs, convert, generate and pair them.

    Logs are read in the Standard Workload Format, as Cobalt or PBS accounting logs, as output of `sacct
    --parsable2` or `--json`, or as CSV with the columns job_id, submit, run, nodes or procs; plain, gzip, bzip2, xz
    or zstd; - is standard input. generated:... and fitted:... are drawn, as the trace of a domain.
    """


@trace.command(short_help="Show what is in job logs.")
@click.argument("paths", metavar="FILE...", nargs=-1, required=True)
@reading_options
@click.option("--json", "as_json", is_flag=True, help="Print the facts as JSON.")
def info(paths: tuple[str, ...], as_json: bool, **reading: Any) -> None:
    """Show jobs, machine, span, load, what a replay leaves out, and distributions of sizes and times.

    Of several logs it also says whether one's jobs are all submitted before or after those of the others.
    """
    from cosched_sim.workload.traces.facts import facts

    sources = [read(path, **reading) for path in paths]
    workloads = [source.workload() for source in sources]
    found = [facts(source.log, workload, source.nodes) for source, workload in zip(sources, workloads, strict=True)]
    if as_json:
        show_json(found if len(found) > 1 else found[0])
        return
    from cosched_sim.commands.tables import facts_tables
    from cosched_sim.spans import apart

    for number, each in enumerate(found):
        show(*([""] if number else []), *facts_tables(each))
    if (remark := apart([Path(source.log.source).name for source in sources], workloads)) is not None:
        say(remark)


@trace.command(short_help="Write a job log as SWF or CSV.")
@click.argument("path", metavar="IN")
@click.argument("target", metavar="OUT")
@reading_options
@click.option("--clean", is_flag=True, help="Only jobs that can be run, in nodes, as a replay takes them.")
@click.option("--scale", metavar="FACTOR", help="Multiply the times between arrivals.")
@click.option("--load", metavar="LOAD", help="Scale the arrivals to this offered load.")
def convert(path: str, target: str, clean: bool, scale: str | None, load: str | None, **reading: Any) -> None:
    """Write the job log IN, of any format, to OUT in the Standard Workload Format, or to OUT.csv (.gz: packed).

    CSV keeps the columns that only some schedulers read.
    """
    if scale is not None and load is not None:
        raise click.UsageError("--scale and --load exclude each other.")
    from cosched_sim.workload.jobs import Workload
    from cosched_sim.workload.traces import left_out_messages

    source = read(path, **reading, more=[*_columns(target).values()])
    for remark in source.log.remarks:
        say(f"{source.log.source}: {remark}")
    jobs = source.workload() if clean else replace(source.log, run=source.log.run.clip(min=UNKNOWN))
    for message in left_out_messages(jobs) if isinstance(jobs, Workload) else ():
        say(message)
    if clean and source.log.columns:
        say(f"{target}: --clean keeps no column {', '.join(source.log.columns)}")
    jobs = _scaled(jobs, source, scale, load)
    _write(jobs, target, _header(source, clean))


def _scaled(jobs: TraceLog | Workload, source: Source, scale: str | None, load: str | None) -> TraceLog | Workload:
    from cosched_sim.workload import traces

    if scale is None and load is None:
        return jobs
    if load is not None and source.nodes is None:
        raise InputError("--load", None, "needs --nodes, since the log does not state the machine's size")
    try:
        factor = scale if load is None else traces.load_factor(source.workload(), source.nodes or 0, load)
        return traces.scale(jobs, factor or 0)
    except ValueError as error:
        raise InputError("--scale" if load is None else "--load", None, str(error)) from None


def _header(source: Source, cleaned: bool) -> dict[str, str]:
    """Return the log's header, with the machine's size if it was given or the log is cleaned, and a note on that."""
    header = dict(source.log.header)
    if source.nodes is not None and (source.nodes_given or cleaned):
        per_node = 1 if cleaned else source.procs_per_node
        header |= {"MaxNodes": str(source.nodes), "MaxProcs": str(source.nodes * per_node)}
    if cleaned:
        note = f"cleaned by cosched {__version__}: jobs that can be run, sizes in nodes"
        header["Note"] = "\n".join(filter(None, [header.get("Note"), note]))
    return header


@trace.command(short_help="Draw a workload like a machine's or a log's.")
@click.argument("machine", metavar="MACHINE|TRACE")
@click.argument("target", metavar="OUT")
@click.option("--jobs", type=int, metavar="N", help="Number of jobs of a machine.")
@click.option("--days", type=float, metavar="D", help="From the first to the last submission (30).")
@click.option("--utilisation", type=float, metavar="U", help="Offered load (intrepid: 0.75, eureka: 0.5).")
@click.option("--seed", type=int, default=0, metavar="S", help="The same seed draws the same jobs (0).")
def generate(
    machine: Any, target: str, jobs: int | None, days: float | None, utilisation: float | None, seed: int
) -> None:
    """Draw a workload and write it to OUT as SWF, or to OUT.csv (.gz: packed).

    MACHINE is intrepid or eureka: give any of jobs, days and utilisation; the others follow. TRACE is what the trace of
    a domain can be, with all its settings, such as fitted:sp2.swf.gz/jobs=5000/load=0.65, generated:gauss/jobs=300 or
    generated:lublin/nodes=256.
    """
    from cosched_sim.workload.generate import generate, swf_header
    from cosched_sim.workload.generated import is_generated
    from cosched_sim.workload.machine_models import MODELS

    if is_generated(machine):
        if (jobs, days, utilisation) != (None, None, None):
            raise click.UsageError("--jobs, --days and --utilisation are for a MACHINE; a TRACE has settings.")
        log = drawn(machine, seed)
        _write(log, target, log.header)
        return
    if machine not in MODELS:
        raise click.BadParameter(f"no machine is called {machine!r}; there are {', '.join(MODELS)}, and traces")
    if days is not None and not 0 < days < MOST_DAYS:
        raise InputError("--days", None, f"{days:g} is not a number of days above 0")
    span_s = None if days is None else max(1, round(days * DAY_S))
    workload = generate(machine, jobs=jobs, span_s=span_s, utilisation=utilisation, seed=seed)
    _write(workload, target, swf_header(machine, MODELS[machine].nodes, seed))


def _columns(target: str) -> Mapping[str, Column]:
    """Return the columns that some scheduler reads, by their names, if that is a file that can have them."""
    from cosched.schedulers.loading import kinds

    of = kinds().values() if _is_table(target) else ()
    return {column.name: column for kind in of for column in kind.columns()}


def _is_table(target: str) -> bool:
    from cosched_sim.workload.traces.table_writer import ENDINGS

    return target.endswith(ENDINGS)


def _write(jobs: TraceLog | Workload, target: str, header: Mapping[str, str]) -> None:
    from cosched_sim.results.staging import writing
    from cosched_sim.workload.traces import write_swf
    from cosched_sim.workload.traces.table_writer import write_table

    with writing(target):
        if _is_table(target):
            write_table(jobs, target, _columns(target))
        else:
            write_swf(jobs, target, header)
            if jobs.columns:
                say(f"{target}: SWF has no column {', '.join(jobs.columns)}; write CSV (OUT.csv) to keep it")
    _written(target, len(jobs), "jobs")


@trace.command(cls=DomainCommand, short_help="Write a file of pairs.", epilog=DOMAIN_HELP)
@replay_options(pairs_file=False)
@click.argument("target", metavar="OUT")
def pair(target: str, domains: tuple[str, ...], config: str | None, **options: Any) -> None:
    """Pair the jobs of two domains, by a window or a fraction, and write the pairs to OUT.

    The domains are given as to `cosched replay`, which makes the same pairs with --pairs OUT.
    """
    from cosched_sim.replaying import pair_jobs, read_machine
    from cosched_sim.results.staging import writing
    from cosched_sim.workload.pairs_file import write_pairs

    settings = replay_settings(domains, config, **options)
    if settings.pair_window is None and settings.pair_fraction is None:
        raise click.UsageError("Give --pair-window or --pair-fraction.")
    with progress("reading ..."):
        workloads = [read_machine(domain, settings)[0] for domain in settings.domains]
        pairing = pair_jobs(settings, workloads)
    names = [domain.name for domain in settings.domains]
    with writing(target):
        write_pairs(target, names, workloads, pairing)
    jobs = " and ".join(f"{len(jobs):,} of {name}" for name, jobs in zip(names, workloads, strict=True))
    _written(target, len(pairing), f"pairs among the jobs, {jobs}")


def _written(target: str, number: int, what: str) -> None:
    if target != "-":
        say(f"{target}: {number:,} {what}")
