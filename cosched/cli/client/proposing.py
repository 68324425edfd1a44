"""`cosched submit --select`: machines are proposed to their domains, which say when they would start the jobs.

Dail et al. (2002, V.A) leave batch schedulers out; this is ours (docs/select.md, Proposals). A domain is asked by a
quote, which promises nothing. So a refusal costs no job.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from cosched.cli.client.selecting import MAX_PROPOSALS, Part, parts
from cosched.cli.output.plain_text import printable
from cosched.cli.output.terminal import progress, say
from cosched.cli.selection import Known, Selection, chosen
from cosched.errors import InputError
from cosched.planning.information.patience import answers
from cosched.planning.search import Schedule
from cosched.quantities import count, duration

if TYPE_CHECKING:
    from cosched.planning.grid import Machine

PATIENCE = 10.0  # seconds for a domain's answer
NO_QUOTES = ("NO_QUOTES", "UNIMPLEMENTED")  # of a scheduler that foresees nothing, and of an older domain
Wait = float | str  # seconds until a domain would start its job; or why it does not say


class Answer(NamedTuple):
    """What a domain says of a proposal, and whether it gives nodes by their names."""

    wait: Wait
    by_name: bool


@dataclass(frozen=True, slots=True)
class Terms:
    """At most so many proposals; how many iterations the job runs, if that is known, and its time limit in seconds."""

    most: int = MAX_PROPOSALS
    iterations: int | None = None
    time_limit: float | None = None


def agreed(found: Known, terms: Terms) -> tuple[Selection, list[Part]]:
    """Choose machines and propose them to their domains; return the best choice with its jobs. InputError."""
    if terms.iterations is not None:
        return _done_first(found, terms, terms.iterations)
    if found.strategy == "dynamic":
        return _starting_now(found, terms)
    selection = chosen(found, sites="domain")
    return selection, parts(found.file, selection)


def _starting_now(machines: Known, terms: Terms) -> tuple[Selection, list[Part]]:
    """Return the best choice that all its domains would start now; if there is none, the best of all.

    What a domain refuses is left out of the next choice.
    """
    first: tuple[Selection, list[Part]] | None = None
    refused: set[str] = set()
    for _ in range(terms.most):
        try:
            selection = chosen(machines, sites="domain", without=refused)
        except InputError:
            if first is None:
                raise
            break
        jobs = parts(machines.file, selection)
        first = first or (selection, jobs)
        told = _answers(jobs, terms)
        for part in jobs:
            wait, by_name = told[part.domain]
            if wait:
                say(printable(f"{part.domain} cannot start {count(part.nodes, 'node')} now: {_told(wait)}"))
                refused |= _left_out(machines.grid.machines, selection, part.domain, by_name=by_name)
        if not any(answer.wait for answer in told.values()):
            return selection, jobs
    assert first is not None
    say("no other choice can start now: the first one is queued")
    return first


def _done_first(machines: Known, terms: Terms, iterations: int) -> tuple[Selection, list[Part]]:
    """Return the choice for which waiting and running take least together; of equal ones, the faster one.

    Compared are the best choices of as many sets of domains as there are proposals.
    """
    best = chosen(machines, sites="domain", each=True)
    if not math.isfinite(best.choice.schedule.prediction.time):
        raise InputError(machines.file, None, "a link of the choice is not known, so --iterations has no time to count")
    each = [found for _, found in best.choice.of_collections if isinstance(found, Schedule)] or [best.choice.schedule]
    schedules = sorted(each, key=lambda found: found.prediction.time)[: terms.most]
    found: list[tuple[float, Selection, list[Part], float]] = []
    for schedule in schedules:
        selection = replace(best, choice=replace(best.choice, schedule=schedule))
        jobs = parts(machines.file, selection)
        known_waits = list[float]()
        for domain, (told, _) in _answers(jobs, terms).items():
            if isinstance(told, str):
                say(printable(f"{domain} cannot start {selection.title}: {told}"))
            else:
                known_waits.append(told)
        if len(known_waits) == len(jobs):
            wait = max(known_waits)
            found.append((wait + iterations * schedule.prediction.time, selection, jobs, wait))
    if not found:
        raise InputError(machines.file, None, f"none of {count(len(schedules), 'choice')} can be started")
    total, selection, jobs, wait = min(found, key=lambda option: option[0])
    start = f"in {duration(wait)}" if wait else "now"
    say(f"of {count(len(found), 'choice')}, one that starts {start} is done first: in {duration(total)}")
    return selection, jobs


def _answers(jobs: Sequence[Part], terms: Terms) -> Mapping[str, Answer]:
    """Ask all domains at once how long their jobs would wait."""
    calls = [(partial(_asked, part, terms.time_limit), PATIENCE) for part in jobs]
    with progress("proposing machines to their domains ..."):
        told = answers(calls)
    return {
        part.domain: answer.value
        or Answer(str(answer.error or f"no answer within {PATIENCE:g} s"), part.nodelist is not None)
        for part, answer in zip(jobs, told, strict=True)
    }


def _asked(part: Part, time_limit: float | None) -> Answer:
    from cosched.client import Client, ClientError

    by_name = part.nodelist is not None
    with Client.of(part.domain) as client:
        by_name = by_name and client.domain().named_nodes is not False
        try:
            quote = client.quote_start(part.nodes, time_limit=time_limit, columns=part.columns if by_name else None)
        except ClientError as error:
            if error.reason in NO_QUOTES:
                return Answer(0.0, by_name)  # it is free, as far as anybody knows
            raise
    return Answer("nobody can say when" if quote.wait is None else quote.wait, by_name)


def _told(wait: Wait) -> str:
    return wait if isinstance(wait, str) else f"in {duration(wait)}"


def _left_out(machines: Sequence[Machine], selection: Selection, domain: str, *, by_name: bool) -> set[str]:
    """Return the machines that a refusal takes out: those that were named, or so many that one fewer is left.

    Whoever gives nodes by their number does not say which of them it refuses.
    """
    proposed = [machine.name for machine in selection.choice.schedule.map.machines if machine.domain == domain]
    if by_name:
        return set(proposed)
    stay = set(proposed[:-1])
    return {machine.name for machine in machines if machine.domain == domain and machine.name not in stay}
