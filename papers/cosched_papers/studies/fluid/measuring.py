"""What one replay measures. Times are means in minutes."""

from __future__ import annotations

from cosched_papers.studies.meet import measuring
from cosched_sim.results.result import DomainResult
from cosched_sim.studies.cases import StudyCase, replayed
from cosched_sim.sweeps.case import Row
from cosched_sim.workload.jobs import UNKNOWN, Ints

# Of a machine; their columns are called "MACHINE MEASURE". "Total": from submission to end.
TOTAL, PAIRED_TOTAL, RESIZES = "unpaired total", "paired total", "changes of size per job"


def measures(case: StudyCase) -> Row:
    """Replay a case."""
    result = replayed(case.settings)
    of_all = measuring.of_pairs(result)
    found = {measure: of_all[measure] for measure in (measuring.PAIR_WAIT, measuring.PAIRS, measuring.TOGETHER)}
    for name, domain in result.domains.items():
        found |= {f"{name} {measure}": value for measure, value in _of_machine(domain).items()}
    return found


def _of_machine(domain: DomainResult) -> Row:
    jobs, submit = domain.jobs, domain.workload.submit
    paired = jobs.pair != UNKNOWN
    alone, both = domain.started & ~paired, domain.started & paired

    def mean(seconds: Ints) -> float | None:
        found: float | None = measuring.spread(seconds / measuring.MINUTE)[0]
        return found

    return {
        measuring.WAIT: mean((jobs.start - submit)[alone]),
        TOTAL: mean((jobs.end - submit)[alone]),
        PAIRED_TOTAL: mean((jobs.end - submit)[both]),
        measuring.SYNC: mean(measuring.sync_times(domain)),
        measuring.HELD: 100 * domain.metrics["held_share"],
        RESIZES: domain.counts.get("changes_of_size", 0) / max(1, len(submit)),
        measuring.NEVER: domain.metrics["never_started"],
    }
