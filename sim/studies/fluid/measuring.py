"""What one replay measures. Times are means in minutes."""

from __future__ import annotations

from cosched.sim.results.result import DomainResult, ReplayResult
from cosched.sim.studies.meet.measuring import (
    HELD,
    MINUTE,
    NEVER,
    PAIR_WAIT,
    PAIRS,
    SYNC,
    TOGETHER,
    WAIT,
    of_pairs,
    spread,
)
from cosched.sim.sweeps.case import Row
from cosched.workload.jobs import UNKNOWN

OF_PAIRS = (PAIR_WAIT, PAIRS, TOGETHER)

# Of a machine; their columns are called "MACHINE MEASURE". "Total": from submission to end.
TOTAL, PAIRED_TOTAL, RESIZES = "unpaired total", "paired total", "changes of size per job"


def measures(result: ReplayResult) -> Row:
    """Return the measures of a replay."""
    of_all = of_pairs(result)
    found = {measure: of_all[measure] for measure in OF_PAIRS}
    for name, domain in result.domains.items():
        found |= {f"{name} {measure}": value for measure, value in _of_machine(domain).items()}
    return found


def _of_machine(domain: DomainResult) -> Row:
    jobs, submit = domain.jobs, domain.workload.submit
    paired = jobs.pair != UNKNOWN
    alone, both = domain.started & ~paired, domain.started & paired
    return {
        WAIT: spread((jobs.start - submit)[alone] / MINUTE)[0],
        TOTAL: spread((jobs.end - submit)[alone] / MINUTE)[0],
        PAIRED_TOTAL: spread((jobs.end - submit)[both] / MINUTE)[0],
        SYNC: spread((jobs.start - jobs.ready)[both & (jobs.ready != UNKNOWN)] / MINUTE)[0],
        HELD: 100 * domain.metrics["held_share"],
        RESIZES: domain.counts.get("changes_of_size", 0) / max(1, len(submit)),
        NEVER: domain.metrics["never_started"],
    }
