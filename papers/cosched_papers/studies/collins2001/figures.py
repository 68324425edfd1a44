"""Figures 3 to 9 of the paper with our numbers; the text of the paper has no values of its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import product

from cosched_papers.studies.collins2001 import measuring, setup
from cosched_papers.studies.collins2001.comparisons import mean_sum, on_arrival, saving
from cosched_papers.studies.collins2001.measuring import NEXT, PER_CENT, PJS_CPU, PRIORITIES, SHARE, SJS_CPU, SUM
from cosched_papers.studies.collins2001.site import TABLES
from cosched_sim.reports.figures.bars import Panel, grouped_bars
from cosched_sim.reports.figures.figure import Figure
from cosched_sim.reports.figures.style import BLUE, GREY, ORANGE, SKY, VERMILION, Look
from cosched_sim.results.estimate import Estimate
from cosched_sim.studies.design import Found

COLOURS = (GREY, ORANGE, SKY, BLUE, VERMILION, "#222222")
HATCHES = ("", "////", "", "....", "xxxx", "")
SEVERAL = [Look(*each) for each in zip(COLOURS, HATCHES, strict=True)]
LOOKS: Mapping[str, Look] = {
    **dict(zip(map(setup.machines_of, setup.SIZES), SEVERAL, strict=True)),
    **dict(zip(PER_CENT, SEVERAL, strict=False)),
    **dict(zip(PRIORITIES, (Look(VERMILION, "...."), Look(SKY, "////"), Look(BLUE)), strict=True)),
    setup.SJS: Look(GREY, "xxxx"),
    setup.PJS: Look(BLUE),
    NEXT: Look(SKY, "////"),
}
bars = partial(Panel, looks=LOOKS)
INTERVALS = "Means over replications with 95 % intervals."
BOTH = (setup.SJS, setup.PJS)
COUNTS, AT_RATES = list(map(str, setup.LOADS)), list(map(str, setup.RATES))


def paper_figures(found: Found) -> list[Figure]:
    """Return figures 3 to 9, those of the site for both tables."""
    return [_three(found), _four(found), _five(found), *_six(found), _seven(found), *_eight(found), _nine(found)]


def _three(found: Found) -> Figure:
    panel = bars("a call of SJS", "CPU ms", "jobs", list(map(str, setup.SIZES)), {
        name: [found.mean((setup.OF_SJS, float(jobs), name), SJS_CPU) for jobs in setup.SIZES]
        for name in map(setup.machines_of, setup.SIZES)
    })  # fmt: skip
    return grouped_bars("figure-3", "Fig. 3: scheduling delay of SJS", INTERVALS, [panel])


def _four(found: Found) -> Figure:
    """Return the mean over numbers of jobs, in each replication."""
    values, shares = [], list(map(setup.share_of, setup.SHARES))
    for share in shares:
        means = [found.mean((setup.OF_PJS, float(jobs), share), PJS_CPU) for jobs in setup.PJS_SIZES]
        values.append(Estimate(sum(of.mean for of in means if of) / len(means)) if all(means) else None)
    panel = bars("a call of PJS", "CPU ms", "jobs with a parallel version", shares, {setup.PJS: values})
    caption = "Means over 5 to 1,000 jobs. With 0 % PJS is SJS."
    return grouped_bars("figure-4", "Fig. 4: scheduling delay of PJS", caption, [panel])


def _five(found: Found) -> Figure:
    panels, few = [], [jobs for jobs in setup.LOADS if jobs <= 50]
    for table in TABLES:
        savings = {of: [saving(found, table, jobs, of) for jobs in setup.LOADS] for of in (setup.PJS, NEXT)}
        panels.append(bars(f"(a) savings, {table} times", "less job time than SJS (%)", "jobs", COUNTS, savings))
        sums = {of: [found.mean(setup.at(2, table, setup.NONE, jobs, of), SUM) for jobs in few] for of in BOTH}
        panels.append(bars(f"(b) sums, {table} times", "sum of job times (s)", "jobs", list(map(str, few)), sums))
    caption = f"{NEXT}: with on_failure=next, which is ours. {INTERVALS}"
    return grouped_bars("figure-5", "Fig. 5: PJS beside SJS", caption, panels)


def _six(found: Found) -> Iterator[Figure]:
    for table in TABLES:
        panels = []
        for priorities, priority in product(setup.DISTRIBUTIONS, PRIORITIES):
            measure = measuring.of_priority(priority, SUM)
            sums = {
                of: [found.mean(setup.at(3, table, priorities, n, of), measure) for n in setup.TOTALS] for of in BOTH
            }
            jobs = f"jobs of {priority} priority"
            groups = [str(setup.count_of(of, priorities, priority)) for of in setup.TOTALS]
            panels.append(bars(f"{priorities}, {priority}", "sum of job times (s)", jobs, groups, sums))
        yield grouped_bars(f"figure-6-{table}", f"Fig. 6: priorities, {table} times", INTERVALS, panels)


def _seven(found: Found) -> Figure:
    panels = [
        bars(f"{table} times", "mean sum of job times (s)", "priorities", list(PER_CENT), {
            of: [mean_sum(found, table, priorities, of) for priorities in PER_CENT] for of in BOTH
        })
        for table in TABLES
    ]  # fmt: skip
    caption = f"Means over {setup.TOTALS[0]} to {setup.TOTALS[-1]} jobs. {INTERVALS}"
    return grouped_bars("figure-7", "Fig. 7: all jobs, by priorities", caption, panels)


def _eight(found: Found) -> Iterator[Figure]:
    for table in TABLES:
        panels = [
            bars(priorities, "mean job time (s)", "jobs a quantum", AT_RATES, {
                priority: [on_arrival(found, table, priorities, rate, priority) for rate in setup.RATES]
                for priority in PRIORITIES
            })
            for priorities in setup.DISTRIBUTIONS
        ]  # fmt: skip
        yield grouped_bars(f"figure-8-{table}", f"Fig. 8: with preemption, {table} times", INTERVALS, panels)


def _nine(found: Found) -> Figure:
    panels = []
    for table in TABLES:
        times = {of: [on_arrival(found, table, of, rate) for rate in setup.RATES] for of in PER_CENT}
        shares = {
            of: [found.mean(setup.at(4, table, of, rate, setup.PJS), SHARE) for rate in setup.RATES] for of in PER_CENT
        }
        panels.append(bars(f"(a) {table} times", "mean job time (s)", "jobs a quantum", AT_RATES, times))
        panels.append(bars(f"(b) {table} times", "jobs on clusters (%)", "jobs a quantum", AT_RATES, shares))
    return grouped_bars("figure-9", "Fig. 9: all jobs, and parallelism", INTERVALS, panels)
