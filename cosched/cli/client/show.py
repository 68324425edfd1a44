"""`cosched show`: all that is known of a job, or of the jobs of a group, and their story."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from cosched.cli.client import wording
from cosched.cli.client.connection import connected, json_option, server_option
from cosched.cli.client.explain import explained, facts
from cosched.cli.client.jobs import JOB_OR_GROUP
from cosched.cli.client.members import Members, members
from cosched.cli.client.wording import WAITING, local_time
from cosched.cli.output.plain_text import printable
from cosched.cli.output.terminal import say, show_json, show_text
from cosched.client.node_names import fold
from cosched.validation.durations import clock
from cosched.validation.group_names import names_job

if TYPE_CHECKING:
    from cosched.client import Client, Event, Explanation, Group, Holds, Job, Mate
    from cosched.client.folding import Line


@click.command()
@click.argument("name", metavar="ID|GROUP", type=JOB_OR_GROUP)
@click.option("-a", "--all", "unfolded", is_flag=True, help="The whole story: else what repeats itself is one line.")
@json_option
@server_option
def show_job(name: str, unfolded: bool, as_json: bool, server: str | None) -> None:
    """Show everything about a job, its mate and its holds; then its story: what happened to it, and why.

    Of a group, or of a pair by its name: all its jobs, and one story of all domains. Other domains are found by
    COSCHED_DOMAINS (NAME=ADDRESS,...), or as [domains] in client.toml has them.
    """
    if not names_job(name):
        _show_group(name, server, as_json=as_json, whole=unfolded)
        return
    with connected(server, name) as client:
        job = client.job(name)
        story = _story(client, job)
        starts = explained(client, [job]) if job.state in WAITING else []
    if as_json:
        show_json({"job": job, "events": story, "explanation": starts[0] if starts else None})
        return
    rows = [*_facts(job), *(row for told in starts for row in _starts(told))]
    known = [f"{title:<12}{printable(value)}".rstrip() for title, value in rows if value]
    told = [f"{local_time(event.at)}  {printable(text)}" for event, text in _lines(story, whole=unfolded)]
    show_text("\n".join([*known, "", *(told or ["no events of it are kept"])]))


def _story(client: Client, job: Job) -> list[Event]:
    return list(client.events(after=0, jobs=[job], until_now=True))


def _lines(story: Sequence[Event], *, whole: bool) -> list[Line]:
    from cosched.client.folding import folded, unfolded

    return unfolded(story) if whole else folded(story, local_time)


def _show_group(name: str, server: str | None, *, as_json: bool, whole: bool) -> None:
    with members(name, server) as group:
        jobs = [job for _, job in group.jobs]
        stories = [_story(client, job) for client, job in group.jobs]
        client, first = group.jobs[0]
        starts = explained(client, [first]) if first.state in WAITING else []
    lines = [line for story in stories for line in _lines(story, whole=whole or as_json)]
    lines.sort(key=lambda line: line[0].at.timestamp() if line[0].at else 0.0)
    if as_json:
        known = {"group": name, "jobs": jobs, "events": [event for event, _ in lines]}
        more = {"unsubmitted": group.unsubmitted, "unasked": group.unasked}
        show_json(known | more | {"explanation": starts[0] if starts else None})
        return
    width = max(len(str(job)) for job in jobs)
    told = [f"{local_time(event.at)}  {printable(event.job or ''):{width}}  {printable(text)}" for event, text in lines]
    show_text("\n".join([*map(printable, _about(group, starts)), "", *told]))
    for domain, problem in group.unasked.items():
        say(printable(f"{domain}: {problem}"))


def _about(group: Members, starts: Sequence[Explanation]) -> Iterator[str]:
    rows = [("group", group.name)]
    for _, job in group.jobs:
        rows.append((str(job), f"{_state(job)}; {job.owner}, {job.nodes:,} node{'s' if job.nodes > 1 else ''}"))
    rows += [(domain, "not submitted yet") for domain in group.unsubmitted]
    rows += [(domain, "not known here") for domain in group.unasked]
    rows += [("together", wording.expected(told.together)) for told in starts if told.together]
    width = max(12, 2 + max(len(title) for title, _ in rows))
    yield from (f"{title:<{width}}{text}" for title, text in rows)


def _facts(job: Job) -> Iterator[tuple[str, str]]:
    yield "job", f"{job} {job.name}"
    yield "owner", job.owner
    yield "account", job.account
    yield "state", _state(job)
    names = fold(job.node_names)
    yield "nodes", f"{job.nodes:,}{f' ({names})' if names else ''}"
    yield "size", _size(job)
    yield "predicts", _predictions(job)
    yield "time limit", _time_limit(job)
    yield "says", ", ".join(f"{name} {text}" for name, text in sorted(job.columns.items()))
    yield "submitted", local_time(job.submitted_at)
    yield "ready", local_time(job.ready_at)
    yield "slot", _slot(job)
    yield "started", local_time(job.started_at)
    yield "ended", local_time(job.ended_at)
    yield "exit code", "" if job.exit_code is None else str(job.exit_code)
    for mate in job.mates:
        yield "mate", _mate(mate, ended=job.ended_at is not None)
        yield "then", str(mate.terms or "")
    if job.group is not None:
        yield "group", _group(job.group)
        yield "then", str(job.group.terms or "")
    yield "adoptable", "yes: a job that names it by its id may have it" if job.adoptable else ""
    yield "holds", _holds(job.holds)


def _time_limit(job: Job) -> str:
    """For how long it may run; on the size that was chosen for it, if that changes this."""
    if not job.time_limit:
        return ""
    limit = clock(round(job.time_limit.total_seconds()))
    if job.started_at is None or job.latest_end in (None, job.started_at + job.time_limit):
        return limit
    return f"{limit}; on what it has it may run until {local_time(job.latest_end)}"


def _size(job: Job) -> str:
    malleable = job.malleable
    if malleable is None:
        return ""
    parts = [f"{malleable.least:,} to {malleable.ideal:,} nodes"]
    if malleable.using:
        parts.append(f"uses {malleable.using:,}")
    if malleable.told_at is not None:
        parts.append(f"told to use {job.nodes:,} at {local_time(malleable.told_at)}, no answer yet")
    if malleable.exec_time is not None:
        parts.append(f"an iteration takes {malleable.exec_time:.3g} s")
    return "; ".join(parts)


def _predictions(job: Job) -> str:
    """What it says of an iteration on its least, on what it has, and on its ideal; what an adaptation costs it now."""
    told = job.malleable.predictions if job.malleable is not None else ()
    if not told:
        return ""
    on = ", ".join(f"{each.exec_time:.3g} s on {each.nodes:,}" for each in told)
    [cost] = [each.cost for each in told if each.nodes == job.nodes]
    return f"an iteration takes {on}; an adaptation {cost:.3g} s"


def _starts(told: Explanation) -> Iterator[tuple[str, str]]:
    yield from facts(told.job)
    for mate in told.mates:
        yield "its mate", "; ".join(f"{title}: {text}" for title, text in facts(mate) if title != "change")
    yield "together", wording.expected(told.together) if told.together else ""


def _state(job: Job) -> str:
    if not job.reason:
        return job.state
    means = wording.meaning(job)
    return f"{job.state} ({job.reason}{wording.kept_until(job)}{f': {means}' if means else ''})"


def _slot(job: Job) -> str:
    if job.slot is None:
        return ""
    others = ", ".join(map(str, job.mates)) if job.group is None else f"group {job.group.name}"
    return f"at {local_time(job.slot)} with {others}; an earlier start is tried at every change"


def _group(group: Group) -> str:
    late = f"; {said}" if (said := wording.gap_found(group.gap)) else ""
    return f"{group.name}; {wording.group_found(group)}{wording.windows_found(group)}{late}"


def _mate(mate: Mate, *, ended: bool) -> str:
    parts = [wording.mate_missed(mate) if ended and mate.lookup != "found" else wording.mate_found(mate)]
    if mate.pair:
        parts.append(f"pair {mate.pair}")
    if mate.heard_at:
        parts.append(f"last heard {local_time(mate.heard_at)}")
    if said := wording.gap_found(mate.gap):
        parts.append(said)
    return "; ".join(parts)


def _holds(holds: Holds) -> str:
    if not holds.holds and not holds.yields:
        return ""
    text = f"held {_times(holds.holds)} ({holds.held_node_seconds:,} node-seconds), yielded {_times(holds.yields)}"
    if holds.until:
        return f"{text}; holds until {local_time(holds.until)}"
    return f"{text}; holds without a time limit" if holds.forever else text


def _times(count: int) -> str:
    return {0: "never", 1: "once"}.get(count, f"{count:,} times")
