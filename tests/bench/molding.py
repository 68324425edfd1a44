"""CPU time of the molding scheduler beside one EASY domain, and beside the slow model: 10,000 jobs of W1 (molding.md).

.venv/bin/python -m tests.bench.molding
"""

from __future__ import annotations

import time
from dataclasses import replace

import cosched_sim  # noqa: F401  (sets the kernels' cache folder)
from cosched.core.scheduling.primitives.codes import CONSERVATIVE
from cosched_papers.molding.kind import MOLDING, MoldingKeys
from cosched_papers.molding.settings import MoldingSettings, Sizing
from cosched_sim.flags import replay_settings
from cosched_sim.replaying import read_machine
from cosched_sim.workload.jobs import Workload
from cosched_sim.workload.traces import cut
from tests.bench.bench import medians, setup, simulate
from tests.reference.molding import RefMolded, RefMolding

TRACE, NODES = "generated:lublin/jobs=10000/nodes=128/alpha=10.23", 128
FEW = 500  # jobs for the slow model
ROUNDS = 5


def molding(work: Workload, settings: MoldingSettings) -> float:
    """CPU seconds of a run, with the jobs as the kernels take them."""
    jobs = MOLDING.jobs(MoldingKeys(), work, NODES)
    began = time.process_time()
    MOLDING.alone(settings, jobs)
    return time.process_time() - began


def slow(work: Workload) -> float:
    """CPU seconds of the slow model, SCOJO-P."""
    columns = (work.submit, work.nodes, work.run, work.requested)
    rows = enumerate(zip(*(column.tolist() for column in columns), strict=True))
    machine = RefMolding(NODES, [RefMolded(row, *job, moldable=True) for row, job in rows], "scojo_p")
    began = time.process_time()
    machine.play()
    return time.process_time() - began


def main() -> None:
    """Print a table."""
    config = replay_settings([f"a,trace={TRACE},scheduler=molding,prediction=trained"], None, seed=1)
    [domain] = config.domains
    work, nodes = read_machine(domain, config)
    predicted = domain.machine_settings(nodes)
    base = replace(predicted, future=None)
    each = {
        "SCOJO-P": predicted,
        "SCOJO-P without prediction": base,
        "SCOJO": replace(base, sizing=Sizing.SCOJO),
        "Cirne-Berman": replace(base, sizing=Sizing.CIRNE_BERMAN),
        "traditional": replace(base, sizing=Sizing.NONE),
        "traditional, conservative": replace(base, sizing=Sizing.NONE, backfilling=CONSERVATIVE),
    }
    runs = (lambda settings=settings: molding(work, settings) for settings in each.values())
    easy_s, *seconds = medians(ROUNDS, lambda: simulate([setup("a", work, NODES, "fcfs")])[0], *runs)
    print(f"EASY on N_opt                  {1e3 * easy_s:8.1f} ms")
    for name, taken in zip(each, seconds, strict=True):
        print(f"{name:30} {1e3 * taken:8.1f} ms  {taken / easy_s:6.1f} times EASY")
    few = cut(work, 0, int(work.submit[FEW]))
    ours, model = medians(ROUNDS, lambda: molding(few, base))[0], slow(few)
    print(f"{'slow model':30} {1e3 * model:8.1f} ms  {model / ours:6.1f} times SCOJO-P without prediction, {FEW} jobs")


if __name__ == "__main__":
    main()
