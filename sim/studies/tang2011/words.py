"""Sentences about the study as a whole, for the page and for paper.md."""

from __future__ import annotations

from typing import Any

PAPER = (
    "Tang, Desai, Vishwanath, Buettner, Lan: Job Coscheduling on Coupled High-End Computing Systems (2011), section V"
)

AGREEMENT = (
    "Ours are means over replications ± the half-widths of their 95 % intervals (Student's t); a range gives the "
    'least and the greatest mean with its place (schemes, load or share). "Yes": all of ours are in the paper\'s '
    'range, or round to its number. "Within ±": their intervals reach it.'
)


PROPERTIES = (
    "V-E states the number of jobs and the load of Eureka's month, but not how the jobs arrive nor how large they are. "
    "As we draw it, its jobs hardly wait, so Intrepid's do not wait for them: 60 min where the paper has 90 to 187. "
    "Here one property of that month is varied at a time, at the same number of jobs and the same load, with 33 % of "
    "Intrepid's jobs paired. **Bursts decide, and large jobs after them**: with 20 to 80 jobs in a row, or 4 to 10 % "
    "of the jobs on half of the machine or more, Intrepid's waits and sync times reach the paper's. The daily cycle "
    "and the spread of run times change little. None of this is tuned: the study's months stay as they are."
)


def replications(said: dict[str, Any]) -> str:
    """Say in a sentence what was replicated."""
    count, days = said["replications"], f"{said['days']:g}"
    times = f"{count} replications" if count > 1 else "One replication, so without intervals"
    if said["logs"]:
        return " ".join([f"{times}: windows of {days} days of the logs {_logs(said)}.", *said["notes"]])
    seeds = f"seeds {said['seed']} to {said['seed'] + count - 1}" if count > 1 else f"seed {said['seed']}"
    return f"{times} of generated months of {days} days ({seeds})."


def left_out(said: dict[str, Any]) -> str:
    """Say what a quick study leaves out; empty for a full one."""
    if not said["quick"]:
        return ""
    return (
        "A quick study: fewer replications than the 10 of the whole one, long runs of two lengths only, the "
        "paper's release order under HH only, and of each sensitivity the least, the usual and the greatest "
        "value."
    )


def _logs(said: dict[str, Any]) -> str:
    return " and ".join(f"{log['trace']} as {machine.capitalize()}" for machine, log in said["logs"].items())
