"""Sentences about the study as a whole, for the page and for paper.md."""

from __future__ import annotations

from typing import Any

PAPER = "Weissman, Abburi, England: Integrated Scheduling: The Best of Both Worlds (2004), section 4.4"

AGREEMENT = (
    "Ours are means over traces ± the half-widths of their 95 % intervals (Student's t); the interval of a "
    "ratio of two means is that of its residuals. A range gives the least and the greatest with its place. "
    '"Yes": all of ours are in the paper\'s range, or round to its number. "Within ±": their intervals reach it. '
    '"Within 5 %": they are no further from it. "Input": it was put in, and is no agreement.'
)
SYSTEM = (
    "System-centric: 128 processors, linear and parabolic jobs, no cost of resizing. The model of 4.2, fitted "
    "to the first 4,961 jobs of SDSC's SP2 (shape 0.408, scale 2,503 s), with all gaps scaled so that the mean "
    "load is the log's own, 0.654; the paper prints no parameter. As fitted, the load is 0.77. min_%_of_ideal "
    "is half up, at least 1."
)
USER = (
    "User-centric: 64 processors, parabolic jobs, costs of resizing, traces of 300 jobs: the instances of table "
    "1 in equal numbers, shuffled, at equal gaps. GE P4 runs for 21,265 s; the paper prints P3's 3,857 s, with "
    "which IDEAL-ONLY has 6.5 jobs an hour, not 1.78. So IDEAL-ONLY in table 3 is an input. 4.4 says 10,000 "
    "jobs for each trace, but then waits grow with the trace, IDEAL-ONLY's throughput does not fall with beta "
    "and MOLDABLE has no dip at 10 %."
)
RULES = (
    "The rules are those of docs/fluid.md, which also says how it decides what the paper leaves open. "
    'IDEAL-BACKFILL is conservative backfilling ("if queue jumping does not delay applications"), IDEAL-EASY a '
    'variant. "= or better": the job\'s total is at most that under the same rules without harvests. Harvest '
    "events are counted for each job that gives."
)
SINGLE = (
    "Single traces differ by a factor of ten: the few longest jobs decide. So all numbers are means over "
    "traces, and intervals are wide where waits are."
)
READINGS = (
    "What the paper leaves open, read otherwise, on traces of at most 2,000 jobs, linear: a queued job that "
    "fits overtakes those before it (step 2 of figure 3 never looks at the queue); jobs start on their least "
    "size instead of all that is free, and are given more at once."
)
MISPRINTS = (
    'Misprints, as we read the paper: "98% or better" (table 2 has 96.7); CTC\'s 512 nodes (its log has 430); '
    "inter_arrival_rate, which is a time; max (min, ideal) of MOLDABLE; GE P4's run time; and figure 16's \"as "
    'beta decreases" against figure 15\'s "as beta increases".'
)


LENGTH = (
    "The ratios to IDEAL-ONLY hang on the length of a trace, too: at this load it hardly keeps up, so its waits grow "
    "with the trace. With 5,000 jobs the total is 10 times that of Low-Imp-FR, with 10,000 it is 15 times."
)


def replications(said: dict[str, Any]) -> str:
    """Say in a sentence what was replicated."""
    logs = f" Models of {len(said['logs'])} log{'s' * (len(said['logs']) != 1)} were drawn from, too." * bool(
        said["logs"]
    )
    return (
        f"{said['traces']} traces of {said['jobs']:,} jobs, and as many of {said['user jobs']} for each application "
        f"and beta (seeds {said['seed']} to {said['seed'] + said['traces'] - 1}).{logs}"
    )


def left_out(said: dict[str, Any]) -> str:
    """Say what a quick study leaves out; empty for a full one."""
    if not said["quick"]:
        return ""
    return "A quick study: fewer and shorter traces than the 100 of 10,000 jobs that the paper has."
