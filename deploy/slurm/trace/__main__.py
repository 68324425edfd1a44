"""The command: `python -m deploy.slurm.trace`; exit status 0 only if all pairs have started together."""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from cosched.client import ClientError
from cosched.validation.durations import parse_seconds
from cosched.words.errors import InputError
from cosched_papers.studies.tang2011.logs import Log, read_log
from cosched_sim.combinations import combinations
from cosched_sim.flags import parse_domain
from cosched_sim.results.output import RunInfo, write_run
from cosched_sim.workload.traces import offered_load
from deploy.slurm.lab import LabError
from deploy.slurm.lab.laboratory import NAMES
from deploy.slurm.trace.comparison import Comparison, compare, explanation, table
from deploy.slurm.trace.cut import Cut, prepare
from deploy.slurm.trace.playing import laboratory, play
from deploy.slurm.trace.results import Settings

COMBINATIONS = {name: tuple(map(str, schemes)) for name, schemes in combinations(len(NAMES)).items()}
_GENERATED = "generated:{name}/jobs={jobs}/days={days}/utilisation={load}"
_LOADS = {"intrepid": 0.75, "eureka": 0.5}


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit status."""
    asked = _parser().parse_args(arguments)
    try:
        return _run(asked)
    except InputError as error:
        print(f"trace: {error}", file=sys.stderr)
        return 2
    except (LabError, ClientError, OSError) as error:
        print(f"trace: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _run(asked: argparse.Namespace) -> int:
    began = time.perf_counter()
    cut = _cut(asked)
    _say(_described(cut))
    settings = Settings(asked.release_interval)
    as_promised = True
    for comparison in _compared(asked, cut, settings):
        print(table(comparison), explanation(comparison), "", sep="\n", flush=True)
        if asked.out is not None:
            _write(comparison, asked, began)
        as_promised &= comparison.as_promised
    return 0 if as_promised else 1


def _cut(asked: argparse.Namespace) -> Cut:
    cut = prepare({name: _log(asked, name) for name in NAMES}, asked.nodes, asked.pair_window, asked.speed)
    if not len(cut.pairing):
        raise InputError("--pair-window", None, f"no jobs are submitted within {asked.pair_window} s of one another")
    return cut


def _log(asked: argparse.Namespace, name: str) -> Log:
    given = getattr(asked, name)
    if given is None:
        drawn = _GENERATED.format(name=name, jobs=asked.jobs, days=asked.days, load=_LOADS[name])
        given = f"{drawn}/seed={asked.seed}"
    trace, *settings = given.split(",", 1)
    values = parse_domain(",".join([name, f"trace={trace}", *settings]))
    del values["name"]
    return read_log(f"--{name}", values, _say)


def _described(cut: Cut) -> str:
    machines = (
        f"{name}: {len(jobs)} jobs for {nodes} nodes, load {offered_load(jobs, nodes):.2f}"
        for name, jobs, nodes in zip(cut.names, cut.workloads, cut.nodes, strict=True)
    )
    return f"{'; '.join(machines)}; {len(cut.pairing)} pairs. Submitted in {cut.span:.0f} s, {cut.speed} times as fast."


def _compared(asked: argparse.Namespace, cut: Cut, settings: Settings) -> Iterator[Comparison]:
    """Yield the comparison for each combination, played one after the other in the same clusters."""
    of_manager = {"backoff": asked.backoff, "try_patience": asked.try_patience}
    schemes = {name: COMBINATIONS[name] for name in asked.schemes}
    with laboratory(cut, schemes[asked.schemes[0]], **of_manager, **settings.of_services) as lab:
        for name, combination in schemes.items():
            if lab.schemes != combination:
                lab.restart(combination)
            _say(f"{name} ...")
            yield compare(name, cut, play(lab, cut, name), combination, settings)


def _write(found: Comparison, asked: argparse.Namespace, began: float) -> None:
    """Write a folder for the clusters and one for the simulator, as a replay does; times are in trace seconds."""
    info = RunInfo(f"python -m deploy.slurm.trace {shlex.join(sys.argv[1:])}", asked.seed, began)
    for of, result in (("slurm", found.slurm), ("simulator", found.simulator)):
        folder = asked.out / found.name / of
        folder.parent.mkdir(parents=True, exist_ok=True)
        write_run(result, folder, info)


def _say(message: str) -> None:
    print(message, file=sys.stderr)


def _two_numbers(text: str) -> list[int]:
    numbers = [_positive(word) for word in text.split(",")]
    if len(numbers) != len(NAMES):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of nodes for each of {', '.join(NAMES)}")
    return numbers


def _combinations(text: str) -> list[str]:
    names = text.split(",")
    if len(set(names)) < len(names) or set(names) - set(COMBINATIONS):
        raise argparse.ArgumentTypeError(f"{text!r} is not some of {', '.join(COMBINATIONS)}")
    return names


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _duration(text: str) -> int:
    try:
        return parse_seconds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m deploy.slurm.trace",
        description="Play a cut of two machines' traces through two real Slurm clusters, and simulate the same.",
        epilog="FILE is a job log, or generated:...; KEYs as of `cosched study`: nodes, procs_per_node, format, cut.",
    )
    for name in NAMES:
        parser.add_argument(f"--{name}", metavar="FILE[,KEY=VALUE...]", help=f"the log that plays {name.capitalize()}")
    options: Sequence[tuple[str, object, object, str]] = (
        ("--jobs", _positive, 120, "jobs of each machine, where no log is given (%(default)s)"),
        ("--days", float, 0.5, "in so many days (%(default)s)"),
        ("--seed", int, 4, "of what is drawn (%(default)s)"),
        ("--nodes", _two_numbers, "16,8", "of the two clusters (%(default)s)"),
        ("--pair-window", _duration, "60s", "jobs submitted within it of one another are pairs (%(default)s)"),
        ("--speed", _positive, 480, "seconds of the trace that pass in one of the clusters' (%(default)s)"),
        ("--schemes", _combinations, "HH,YY", f"of {', '.join(COMBINATIONS)} (%(default)s)"),
        ("--release-interval", _positive, 5, "seconds of the clusters' (%(default)s)"),
        ("--backoff", float, 3.0, "seconds of the clusters' that a yielded job is passed over (%(default)s)"),
        ("--try-patience", float, 1.5, "seconds of the clusters' that a mate's start may take (%(default)s)"),
        ("--out", Path, None, "write the jobs' times and a summary of each run there"),
    )
    for flag, kind, default, what in options:
        parser.add_argument(flag, type=kind, default=default, help=what)  # type: ignore[arg-type]
    return parser


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that the clusters are taken down
    sys.exit(main())
