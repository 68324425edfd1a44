"""Texts for people: quantities with units, and lines on domains and pairs from the summaries in summary.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cosched.schedulers.loading import kind_told_by
from cosched.validation.schemes import in_words
from cosched.words.quantities import count, duration
from cosched_sim.results.metrics import STATISTICS as STATISTICS
from cosched_sim.workload.traces import REASONS

Summary = Mapping[str, Any]

METRICS = {"wait_s": "wait", "slowdown": "slowdown", "bounded_slowdown": "bounded slowdown", "sync_s": "sync time"}
GROUPS = ("all", "paired", "unpaired")


def metrics_of(domain: Summary) -> dict[str, str]:
    """Return the metrics that a domain's tables have, with their titles: bounded slowdowns only if they differ."""
    slowdown, bounded = ([domain[group][metric] for group in GROUPS] for metric in ("slowdown", "bounded_slowdown"))
    if slowdown != bounded:
        return METRICS
    folded = {**METRICS, "slowdown": "(bounded) slowdown"}
    del folded["bounded_slowdown"]
    return folded


def heading(name: str, domain: Summary) -> str:
    """Describe a domain's machine, scheme and policy; `domain` is its part of a summary."""
    parts = [
        count(domain["nodes"], "node"),
        "no coscheduling" if domain["scheme"] == "off" else in_words(domain["scheme"], domain),
        *kind_told_by(domain).words(domain),
    ]
    return f"{name}: {', '.join(parts)}"


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
        "cancel": lambda: f"job {event['job_id']} of {domain} is cancelled{' for good' if event.get('final') else ''}",
        "fail": lambda: f"job {event['job_id']} of {domain} fails",
        "requeue": lambda: f"job {event['job_id']} of {domain} loses its nodes and is queued again",
        "unlink": lambda: f"job {event['job_id']} of {domain} is to start with nobody any more",
        "replace": lambda: f"job {event['new_job_id']} of {domain} takes the place of job {event['job_id']}",
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
