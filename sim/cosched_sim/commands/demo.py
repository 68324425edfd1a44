"""`cosched demo`: what each choice of schemes costs in a generated month, and a pair of live services."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cosched.cli.output.failures import FAILED, Failure
from cosched.cli.output.terminal import Progress, progress, show, show_json
from cosched.installation.extras import SIMULATOR, need
from cosched_sim.commands.live_demo import PairOfProcesses, filled, live_json, live_parts, run_live
from cosched_sim.commands.replay import draw_report, run_all, run_info

if TYPE_CHECKING:
    from cosched_sim.replaying import Replay

SEED = 1
WINDOW = "2m"

FIRST = """
A generated month of two coupled machines is replayed without coscheduling and under each choice of schemes. Then two
live services run pairs of jobs. This takes half a minute; the first time, the scheduler is compiled for as long.
"""

BEFORE = """
A month on two coupled machines, generated: intrepid ({big[nodes]:,} nodes, {big[jobs]:,} jobs) and eureka
({small[nodes]:,} nodes, {small[jobs]:,} jobs). {pairs} jobs of each have a mate on the other, submitted
within two minutes (a simulation here and the analysis of its data there, say), and the two must start
together. When a job is ready and its mate is not, it holds its nodes idle, or it yields and lets others go
first; each machine chooses for itself (below: first intrepid's scheme, then eureka's).
"""

AFTER = """
Without coscheduling {by_chance} of {pairs} pairs started together, by chance; with it {together}, whatever
the machines choose. The price: longer waits and, where jobs hold, nodes that stand idle (lost). A job that
yields costs no node-hours, but often waits longer for its mate (sync: from ready to started).
"""

KEPT = "{out}: traces, pairs and each run's files (none: no coscheduling, HY: hold-yield)."
NOT_KEPT = "To keep the traces, the pairs and every job's times: cosched demo --out DIR"


@click.command(short_help="A minute's look at what coscheduling does.")
@click.option("--out", metavar="DIR", help="Keep the generated traces, the pairs and the files of each run there.")
@click.option("--no-report", is_flag=True, help="Write no report.html and no figures there.")
@click.option("--json", "as_json", is_flag=True, help="Print the summaries as JSON.")
@click.pass_context
def demo(ctx: click.Context, out: str | None, no_report: bool, as_json: bool) -> None:
    """Show what coscheduling does, on a generated month of two coupled machines, and live.

    Replays the month without coscheduling and under the four combinations of hold and yield, and prints one
    table of what each costs. Then runs two services on this host, with linked jobs of real processes, and prints
    how far apart the mates began. Nothing is left behind unless --out is given.
    """
    if out is not None or as_json:
        need(SIMULATOR)
    if not as_json:
        show(filled(FIRST), "")
    with progress("generating ...") as doing:
        from cosched_sim.replaying import Replay
        from cosched_sim.results.staging import staged

        ready = Replay(_settings(), doing.say, doing.go_on)
        with staged(out) if out is not None else nullcontext() as stage:
            if stage:
                _write_inputs(ready, stage)
            said = run_all(ready, run_info(ctx, SEED), stage, doing, compares=as_json or out is not None)
        if out is not None and not no_report:
            draw_report(Path(out), doing)
        live = _run_live(doing)
    if as_json:
        show_json({**said, "live": live_json(live)})
    else:
        _tell(said["combinations"], live, out)


def _run_live(doing: Progress) -> list[PairOfProcesses]:
    from cosched_sim.federation.live_player import ServiceDiedError

    try:
        return run_live(doing)
    except (ServiceDiedError, TimeoutError) as error:
        raise Failure(f"the live half failed: {error}", FAILED) from None


def _settings() -> Any:
    from cosched_sim.configuration import Domain, ReplayConfig
    from cosched_sim.workload.generate import generate
    from cosched_sim.workload.machine_models import EUREKA, INTREPID

    domains = [Domain(name=of.name, trace=generate(of, seed=SEED), nodes=of.nodes) for of in (INTREPID, EUREKA)]
    return ReplayConfig.model_validate({"domains": domains, "pair_window": WINDOW, "seed": SEED})


def _write_inputs(ready: Replay, stage: Path) -> None:
    """Write the files with which `cosched replay --compare` gives the same results."""
    from cosched_sim.workload.generate import swf_header
    from cosched_sim.workload.pairs_file import write_pairs
    from cosched_sim.workload.traces import write_swf

    names = [domain.name for domain in ready.config.domains]
    for name, workload, nodes in zip(names, ready.workloads, ready.nodes, strict=True):
        write_swf(workload, stage / f"{name}.swf.gz", swf_header(name, nodes, SEED))
    write_pairs(stage / "pairs.csv", names, ready.workloads, ready.pairing)


def _tell(runs: dict[str, Any], live: list[PairOfProcesses], out: str | None) -> None:
    from cosched_sim.combinations import NONE
    from cosched_sim.commands.tables import comparison_table

    pairs = [summary["pairs"] for name, summary in runs.items() if name != NONE]
    big, small = runs[NONE]["domains"].values()
    all_together = all(found["together"] == found["pairs"] for found in pairs)
    facts = {
        "big": big,
        "small": small,
        "pairs": f"{pairs[0]['pairs']:,}",
        "by_chance": runs[NONE]["pairs"]["together"],
        "together": "all do" if all_together else f"at least {min(found['together'] for found in pairs):,} do",
    }
    before, after = (filled(text.format(**facts)) for text in (BEFORE, AFTER))
    kept = KEPT.format(out=out) if out else NOT_KEPT
    show(before, "", comparison_table(runs), "", after, "", *live_parts(live), "", kept)
