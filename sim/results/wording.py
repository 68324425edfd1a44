"""Texts for people: quantities with units, and lines on domains and pairs from the summaries in summary.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cosched.validation.schemes import in_words
from cosched.workload.traces import REASONS

Summary = Mapping[str, Any]

METRICS = {
    "wait_s": "wait",
    "slowdown": "slowdown",
    "bounded_slowdown": "bounded slowdown",
    "sync_s": "sync time",
}
GROUPS = ("all", "paired", "unpaired")
STATISTICS = ("mean", "median", "p95", "p99", "max")
UNITS = ((172_800, 86_400, "d"), (7_200, 3_600, "h"), (120, 60, "min"), (0, 1, "s"))  # from, seconds, unit


def duration(seconds: float | None) -> str:
    """Format a duration with about three digits and a unit; empty for None."""
    if seconds is None:
        return ""
    size, unit = next((size, unit) for least, size, unit in UNITS if abs(seconds) >= least)
    return f"{(whole if size == 1 else number)(seconds / size)} {unit}"


def number(value: float | None) -> str:
    """Format a number with one digit after the point, unless it is large; empty for None."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 1000 else f"{value:,.1f}"


def duration_with_interval(mean: float, half: float | None) -> str:
    """Format a mean duration in seconds, ± half its interval if it has one, in the unit of the larger of both."""
    size, unit = next((size, unit) for least, size, unit in UNITS if max(abs(mean), half or 0.0) >= least)
    return f"{number_with_interval(mean / size, None if half is None else half / size)} {unit}"


def number_with_interval(mean: float, half: float | None, digits: int = 1) -> str:
    """Format a mean, ± half its interval if it has one, both with the same number of digits."""
    digits = 0 if abs(mean) >= 1000 else digits
    return f"{mean:,.{digits}f}" + ("" if half is None else f" ± {half:,.{digits}f}")


def plus(text: str) -> str:
    """Return a formatted difference, with a plus sign if it is above zero."""
    above = bool(text) and float(text.split()[0].replace(",", "")) > 0
    return f"+{text}" if above else text


def whole(value: float | None) -> str:
    """Format a number as `number` does, but without a digit after the point if that is 0."""
    return number(value).removesuffix(".0")


def percent(share: float | None, digits: int = 1) -> str:
    """Format a share of 1 as per cent; empty for None."""
    return "" if share is None else f"{100 * share:.{digits}f} %"


def count(number: int, thing: str) -> str:
    """Format a count with its noun: `1 hold`, `2 holds`."""
    return f"{number:,} {thing}{'s' * (number != 1)}"


def heading(name: str, domain: Summary) -> str:
    """Describe a domain's machine, scheme and policy; `domain` is its part of a summary."""
    parts = [
        count(domain["nodes"], "node"),
        "no coscheduling" if domain["scheme"] == "off" else in_words(domain["scheme"], domain),
        *(_fluid(domain["fluid"]) if "fluid" in domain else _batch(domain)),
    ]
    return f"{name}: {', '.join(parts)}"


def _batch(domain: Summary) -> list[str]:
    backfilling = {"none": "no backfilling"}.get(domain["backfill"], f"{domain['backfill']} backfilling")
    pool = [domain["node_pool"]] if domain["node_pool"] != "flat" else []
    return [f"policy {domain['policy']}", backfilling, *pool]


def _fluid(rules: Summary) -> list[str]:
    if not rules["resizes"]:
        return ["moldable: no job changes its size"]
    level = [] if rules["level"] is None else [f"level {rules['level']}"]
    return [f"fluid: {rules['harvesting']}, {rules['distribution']}", *level]


def fluid_line(rules: Summary) -> str:
    """Say how long jobs of a fluid domain took, and how often they changed their size."""
    harvests = f"{count(rules['harvests'], 'harvest')}, {rules['harvests_refused']:,} not possible"
    gave = f"{count(rules['jobs_harvested'], 'job')} gave nodes to others"
    times = f"mean run time {duration(rules['mean_run_s'])}, from submission to end {duration(rules['mean_total_s'])}"
    return f"{times}; {rules['changes_of_size']:,} changes of size; {harvests}; {gave}"


def rejected_line(rejected: Mapping[str, int]) -> str:
    """Say how many jobs were left out and why; empty if none were."""
    return ", ".join(f"{left_out:,} {REASONS[reason]}" for reason, left_out in rejected.items())


def lost_line(domain: Summary) -> str:
    """Say how many jobs what-if events have ended."""
    return f"{count(domain['failed'], 'job')} failed, {domain['cancelled']:,} cancelled (what-if events)"


def event_words(event: Mapping[str, Any]) -> str:
    """Say what a what-if event does; `event` is one of a summary's "script"."""
    domain, action = event["domain"], event["action"]
    words = {
        "cancel": lambda: f"job {event['job_id']} of {domain} is cancelled",
        "down": lambda: f"{count(event['nodes'], 'node')} of {domain} go down; jobs on them fail",
        "drain": lambda: f"{count(event['nodes'], 'node')} of {domain} leave service as they become free",
        "up": lambda: f"{count(event['nodes'], 'node')} of {domain} come back",
        "scheme": lambda: f"{domain}: scheme {event['scheme']}",
        "cut": lambda: f"the link between {domain} and {event['peer']} is down",
        "mend": lambda: f"the link between {domain} and {event['peer']} is up again",
    }
    return words[action]()


def pairs_line(pairs: Summary) -> str:
    """Say how many pairs started together, apart or not at all."""
    if not pairs["pairs"]:
        return "pairs: none"
    line = f"pairs: {pairs['together']:,} of {pairs['pairs']:,} started together{_exceptions(pairs)}"
    if pairs["dropped"]:
        line += f"; {count(pairs['dropped'], 'row')} dropped: a job of theirs was left out"
    return line


def groups_line(groups: Summary) -> str:
    """Say how many groups started together, apart or not at all."""
    of = f"{groups['groups']:,} ({groups['members']:,} jobs)"
    together = "started together, or within their windows" if groups.get("with_windows") else "started together"
    return f"groups: {groups['together']:,} of {of} {together}{_exceptions(groups)}"


def _exceptions(found: Summary) -> str:
    line = ""
    if found["desynchronised"]:
        gap = found["gap_s"]
        line += f"; {found['desynchronised']:,} apart"
        line += f" (by {duration(gap['mean'])} on average, {duration(gap['max'])} at most)"
    if found["never"]:
        line += f"; {found['never']:,} of which a job never started"
    return line


def warnings(summary: Summary) -> Iterator[str]:
    """Yield warnings about a run."""
    if summary["stalled"]:
        yield "ended early: only holds were left, and they changed places for ever"
    for name, domain in summary["domains"].items():
        if domain["never_started"]:
            yield f"{name}: {count(domain['never_started'], 'job')} never started"
