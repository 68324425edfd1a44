"""What the real run has found: each map's predicted and measured time, and the strategies beside each other."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from cosched_papers.studies.dail2002.measuring import STRATEGIES
from cosched_papers.studies.dail2002.real.running import APPLICATIONS, Run
from cosched_sim.reports.page import Section, Table
from cosched_sim.results.estimate import estimate


def real_section(told: Sequence[Mapping[str, Any]], words: Mapping[str, str]) -> Section:
    """Return the section, from the runs as plain values."""
    runs = [Run(**values) for values in told]
    errors = [abs(run.measured / run.predicted - 1) for run in runs]
    mean, most = (f"{100 * error:.1f}" for error in (statistics.fmean(errors), max(errors)))
    found = words["found"].format(count=len(runs), mean=mean, most=most)
    return Section("A real run", f"{words['how']}\n\n{found}", tables=[_strategies(runs), _maps(runs)])


def _strategies(runs: Sequence[Run]) -> Table:
    """Return the mean times and degradations of each strategy: of the best of the three, back to back."""
    rows = []
    for application in APPLICATIONS:
        mine = [run for run in runs if run.application == application]
        best = {at: min(run.measured for run in mine if run.moment == at) for at in {run.moment for run in mine}}
        for strategy in STRATEGIES:
            of = [run for run in mine if run.strategy == strategy]
            times = estimate([run.measured for run in of])
            degraded = estimate([100 * (run.measured / best[run.moment] - 1) for run in of])
            machines = f"{min(run.machines for run in of)} to {max(run.machines for run in of)}"
            rows.append([application, strategy, str(times), str(degraded), machines])
    header = ["Application", "Strategy", "iteration time", "degradation", "machines"]
    return Table("The strategies in the real run", "Means over the moments.", header, rows)


def _maps(runs: Sequence[Run]) -> Table:
    rows = [
        [f"{run.application} {run.moment}", run.strategy, str(run.machines), "yes" if run.across else "no",
         f"{run.predicted:.3f}", f"{run.measured:.3f}", f"{100 * (run.measured / run.predicted - 1):+.1f}"]
        for run in runs
    ]  # fmt: skip
    header = ["Moment", "Strategy", "machines", "across sites", "predicted (s)", "measured (s)", "off by (%)"]
    return Table("Predicted and measured iterations", "", header, rows)
