"""What one replay measures. Times are in minutes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cosched_papers.studies.groups.setup import CLASSES, under
from cosched_papers.studies.meet.measuring import MINUTE, spread, sync_times
from cosched_papers.studies.tang2011.setup import BASE
from cosched_sim.results.result import DomainResult, ReplayResult
from cosched_sim.studies.cases import StudyCase, on_same_jobs
from cosched_sim.sweeps.case import Row
from cosched_sim.workload.jobs import UNKNOWN
from cosched_sim.workload.pairing import Group, Pairing, paired

# Of the groups, as they were drawn; also where their jobs are in pairs, or not coscheduled.
GROUP_WAIT = "group wait"  # from the last submission to the start of the member that starts last
GROUP_P95, GROUP_LONGEST = f"{GROUP_WAIT} p95", f"{GROUP_WAIT} longest"
GROUPS, TOGETHER, APART, NEVER, GAP = "groups", "groups together", "groups apart", "groups never", "gap"

# Of what is coscheduled.
SYNC = "sync time"  # of a member: from when it was ready first to its start

# Of a class of machines; their columns are called "CLASS MEASURE". "Other": of the jobs in no group.
HELD = "held"  # per cent of the node-time
WAIT, P99, LONGEST = "other wait", "other wait p99", "other wait longest"
OTHERS_NEVER = "others never started"


def in_pairs(groups: Sequence[Group]) -> Pairing:
    """Return two members of each group at a time as pairs; which member of an odd number is left over varies."""
    found: list[tuple[tuple[int, int], ...]] = []
    for group in groups:
        turn = group.row % len(group.members)
        members = group.members[turn:] + group.members[:turn]
        found += [tuple(sorted(members[at : at + 2])) for at in range(0, len(members) - 1, 2)]
    return paired([Group(row, members) for row, members in enumerate(found, 1)])


def measures(case: StudyCase) -> Row:
    """Replay a case; `more` says whether the members of a group are in pairs instead."""
    jobs, here = on_same_jobs(case, under(dict(case.settings), BASE))
    groups = jobs.pairing.rows
    if case.more[0]:
        here.pairing = in_pairs(groups)
    return measured(here.run(), groups)


def measured(result: ReplayResult, groups: Sequence[Group]) -> Row:
    """Return the measures of a replay, of whose jobs these were drawn as groups."""
    domains = list(result.domains.values())
    row = _of_groups(domains, groups)
    in_groups = [np.zeros(len(domain.workload), bool) for domain in domains]
    for group in groups:
        for domain, job in group.members:
            in_groups[domain][job] = True
    times = [sync_times(of) for of in domains if of.settings.scheme != "off"]
    row[SYNC] = spread(np.concatenate([np.empty(0), *times]) / MINUTE)[0]
    for name, machines in CLASSES.items():
        chosen = [(of, ~inside) for of, inside in zip(domains, in_groups, strict=True) if of.settings.name in machines]
        row |= {f"{name} {measure}": value for measure, value in _of_class(chosen).items()}
    return row


def _of_groups(domains: Sequence[DomainResult], groups: Sequence[Group]) -> Row:
    waits, gaps, never = [], [], 0
    for group in groups:
        starts = [int(domains[domain].jobs.start[job]) for domain, job in group.members]
        if UNKNOWN in starts:
            never += 1
            continue
        submitted = max(int(domains[domain].workload.submit[job]) for domain, job in group.members)
        waits.append((max(starts) - submitted) / MINUTE)
        gaps.append((max(starts) - min(starts)) / MINUTE)
    apart = [gap for gap in gaps if gap]
    mean, p95, longest = spread(np.array(waits), 95)
    return {
        GROUP_WAIT: mean, GROUP_P95: p95, GROUP_LONGEST: longest, GROUPS: len(groups),
        TOGETHER: len(gaps) - len(apart), APART: len(apart), NEVER: never, GAP: spread(np.array(apart))[0]
    }  # fmt: skip


def _of_class(machines: Sequence[tuple[DomainResult, Any]]) -> Row:
    """Measure the jobs that are in no group, which are given for each machine."""
    waits = [((of.jobs.start - of.workload.submit)[others & of.started]) / MINUTE for of, others in machines]
    mean, p99, longest = spread(np.concatenate(waits), 99)
    return {
        HELD: 100 * float(np.mean([of.metrics["held_share"] for of, _ in machines])),
        WAIT: mean, P99: p99, LONGEST: longest,
        OTHERS_NEVER: sum(int((others & ~of.started).sum()) for of, others in machines)
    }  # fmt: skip
