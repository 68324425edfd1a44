"""The cases of the study: each a trace under all policies."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from cosched_papers.studies.weissman2004 import setup
from cosched_papers.studies.weissman2004.setup import percent
from cosched_sim.studies.cases import StudyCase, labels
from cosched_sim.sweeps.case import Case, Row

POLICIES_ALL, POLICIES_FINAL, IDEAL_SIZES, OTHER_READINGS = ("policies", "final", "ideal", "readings")  # what is run


def measures(case: StudyCase) -> Row:
    """Run a case; `more` says what is run."""
    from cosched_papers.studies.weissman2004 import measuring, readings

    trace = str(case.settings["domains"][0]["trace"])
    runs = case.more[0]
    if runs == IDEAL_SIZES:
        return measuring.on_ideal(trace)
    jobs, nodes = measuring.jobs_of(case.settings)
    if runs == OTHER_READINGS:
        return readings.by_readings(jobs, nodes)
    if runs == POLICIES_FINAL:
        return measuring.final(jobs, nodes)
    return measuring.policies(jobs, nodes)


def cases(plan: setup.Plan) -> list[Case]:
    """Return every case, one trace after another."""
    return [
        StudyCase(settings, labels(experiment, point, place, replication), measures, (runs,))
        for replication in range(1, plan.traces + 1)
        for experiment, point, place, settings, runs in _of_trace(plan, replication)
    ]


def _of_trace(plan: setup.Plan, replication: int) -> Iterator[tuple[str, float, str, setup.Settings, str]]:
    """Yield experiment, point, place, settings, and what is run of each case of a trace."""
    # Figures 9 to 13 and table 2: the point is min_%_of_ideal.
    trace = plan.sp2(setup.SDSC, setup.LOAD, replication)
    for model, share in product(setup.MODELS, setup.SHARES):
        yield model, share, "", setup.fluid(trace, share, model), POLICIES_ALL
    # Figure 14 at several loads, and for the logs: the point is the load.
    points = [(setup.SDSC, load) for load in (setup.LOAD, *setup.OTHER_LOADS)]
    for source, load in points + [(log, setup.LOAD) for log in plan.logs]:
        name = source if source == setup.SDSC else f"log {plan.logs.index(source) + 1}"
        for place, settings, runs in _sizes(plan.sp2(source, load, replication)):
            yield setup.LOADS, load, f"{name}, {place}", settings, runs
    # Figures 15 and 16 and table 3: the point is beta.
    for application, beta in product(setup.APPLICATIONS, setup.BETAS):
        for place, settings, runs in _sizes(plan.application(application, beta, replication)):
            yield application, beta, place, settings, runs
    # Other readings of the paper: the point is min_%_of_ideal.
    if replication <= plan.read_differently:
        trace = trace.replace(f"jobs={plan.jobs}", f"jobs={min(plan.jobs, 2000)}")
        for share in setup.SHARES:
            yield setup.READINGS, share, "", setup.fluid(trace, share, setup.LINEAR), OTHER_READINGS


def _sizes(trace: str) -> Iterator[tuple[str, setup.Settings, str]]:
    """Yield jobs on their ideal, and at each least size."""
    yield setup.IDEAL, setup.domain(trace), IDEAL_SIZES
    for share in setup.SHARES:
        yield percent(share), setup.fluid(trace, share), POLICIES_FINAL
