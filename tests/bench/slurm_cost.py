"""What a job without a mate costs slurmctld beside cosched's hooks, and which of them costs what.

`python -m tests.bench.slurm_cost` prints milliseconds of processor time a job: of slurmctld, of its slurmscriptd, and
of the scripts that both start. Arrays of jobs that do nothing go in turn to clusters without hooks, with `prolog`
alone, and with `prolog` and `jobcomp`.
"""

from __future__ import annotations

import statistics
from contextlib import ExitStack

import psutil

from deploy.slurm.lab import Cluster, Lab, Options
from tests.slurm.cosched_hooks import Service, site

TASKS, BATCHES = 100, 5
NODES, CPUS = 2, 10
HOOKS = {"none": (), "prolog": ("prolog",), "prolog and jobcomp": ("prolog", "jobcomp")}


def measure() -> dict[str, list[float]]:
    """Return the medians for each choice of hooks."""
    with ExitStack() as stack:
        hooks = stack.enter_context(site())
        stack.enter_context(Service(hooks.socket))
        names = {name.replace(" ", "-"): roles for name, roles in HOOKS.items()}
        options = {
            name: Options(nodes=NODES, cpus=CPUS, **{role: hooks.options[role] for role in roles})
            for name, roles in names.items()
        }
        lab = stack.enter_context(Lab(names=tuple(names), each=options))
        found: dict[str, list[list[float]]] = {name: [] for name in names}
        for _ in range(BATCHES):
            for name in names:
                found[name].append(_cost(lab[name]))
        return {name: [statistics.median(column) for column in zip(*rows, strict=True)] for name, rows in found.items()}


def _cost(cluster: Cluster) -> list[float]:
    before = _spent(cluster)
    cluster.sbatch("true", f"--array=1-{TASKS}", "--output=/dev/null")
    cluster.wait_for_no_jobs()
    return [1000 * (after - at) / TASKS for after, at in zip(_spent(cluster), before, strict=True)]


def _spent(cluster: Cluster) -> list[float]:
    """Return the seconds of slurmctld, of its slurmscriptd, and of what they have started and seen end."""
    controller = psutil.Process(cluster.pid())
    times = [controller.cpu_times(), *(child.cpu_times() for child in controller.children())]
    own, *others = (each.user + each.system for each in times)
    return [own, sum(others), sum(each.children_user + each.children_system for each in times)]


def main() -> None:
    """Measure and print."""
    print(f"{'milliseconds a job':<22} {'slurmctld':>10} {'slurmscriptd':>13} {'scripts':>8} {'all':>6}")
    for name, (controller, scripts, started) in measure().items():
        all_ = controller + scripts + started
        print(f"{name:<22} {controller:10.2f} {scripts:13.2f} {started:8.2f} {all_:6.2f}")


if __name__ == "__main__":
    main()
