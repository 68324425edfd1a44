"""`cosched submit --select`: machines are proposed to their domains, which say when they would start the jobs.

Dail et al. (2002, V.A) leave batch schedulers out; this is ours (docs/select.md, Proposals). A domain is asked by a
quote, which promises nothing. So a refusal costs no job. A batch system may refuse a job later, when it is submitted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from cosched.cli.client.batch_command import NotTaken
from cosched.cli.client.reselecting import Submitted, were_dropped
from cosched.cli.client.selecting import MAX_PROPOSALS, Part, parts
from cosched.cli.output.failures import FAILED, Failure
from cosched.cli.output.plain_text import printable
from cosched.cli.output.terminal import progress, say
from cosched.cli.selection import Known, Selection, chosen, known
from cosched.planning.information.patience import answers
from cosched.planning.problem import problem_of
from cosched.planning.search import Schedule
from cosched.words.errors import InputError
from cosched.words.quantities import count, duration

if TYPE_CHECKING:
    from cosched.planning.grid import Machine

NOTHING_TAKEN = "nothing was submitted: no choice was taken"
PATIENCE = 10.0  # seconds for a domain's answer
NO_QUOTES = ("NO_QUOTES", "UNIMPLEMENTED")  # of a scheduler that foresees nothing, and of an older domain
Submit = Callable[[Sequence[Part]], list[str]]  # submits jobs, all or none, and returns their ids; NotTaken, Failure


class Answer(NamedTuple):
    """What a domain says of a proposal, and whether it gives nodes by their names."""

    wait: float | str  # seconds until it would start its job; or why it does not say
    by_name: bool


class _Option(NamedTuple):
    """A choice, and its jobs."""

    selection: Selection
    jobs: Sequence[Part]

    def submitted(self, submit: Submit) -> tuple[Selection, list[Submitted]]:
        """Submit the jobs; NotTaken, Failure."""
        say(printable(self.selection.title))
        ids = submit(self.jobs)
        return self.selection, [(part.domain, id) for part, id in zip(self.jobs, ids, strict=True)]


@dataclass(frozen=True, slots=True)
class Terms:
    """At most so many proposals; how many iterations the job runs, if that is known, and its time limit in seconds."""

    most: int = MAX_PROPOSALS
    iterations: int | None = None
    time_limit: float | None = None


def submit_best(machines: Known, terms: Terms, submit: Submit) -> tuple[Selection, list[Submitted]]:
    """Choose machines, propose them to their domains, and submit the jobs of the best choice. InputError, Failure.

    That is the best one that all its domains take, by the dynamic strategy to start now; else the best of all. What a
    domain refuses is left out of the next choice. With iterations, it is the one that is done first.
    """
    if terms.iterations is not None:
        return _done_first(machines, terms, terms.iterations, submit)
    first: _Option | None = None
    refused: set[str] = set()
    may_be_queued = True
    for _ in range(terms.most):
        try:
            selection = chosen(machines, sites="domain", without=refused)
        except InputError:
            if first is None:
                raise
            break
        option = _Option(selection, parts(machines.file, selection))
        first = first or option
        refusals = _refusals(option.jobs, terms) if machines.strategy == "dynamic" else {}
        if not refusals:
            try:
                return option.submitted(submit)
            except NotTaken as error:
                say(error.message)
                may_be_queued &= option is not first
                refusals = {error.domain: any(part.nodelist for part in option.jobs if part.domain == error.domain)}
        for domain, by_name in refusals.items():
            refused |= _left_out(machines.grid.machines, selection, domain, by_name=by_name)
    if not may_be_queued:
        raise Failure(NOTHING_TAKEN, FAILED)
    assert first is not None
    say("no other choice can start now: the first one is queued")
    return first.submitted(submit)


def _refusals(jobs: Sequence[Part], terms: Terms) -> dict[str, bool]:
    """Ask the domains of jobs; tell which ones would not start theirs now, and whether these give nodes by name."""
    told = _answers(jobs, terms)
    refused = {part.domain: told[part.domain] for part in jobs if told[part.domain].wait}
    for part in jobs:
        if part.domain in refused:
            wait = refused[part.domain].wait
            said = wait if isinstance(wait, str) else f"in {duration(wait)}"
            say(printable(f"{part.domain} cannot start {count(part.nodes, 'node')} now: {said}"))
    return {domain: answer.by_name for domain, answer in refused.items()}


def _done_first(machines: Known, terms: Terms, iterations: int, submit: Submit) -> tuple[Selection, list[Submitted]]:
    """Submit the choice for which waiting and running take least together; of equal ones, the faster one.

    Compared are the best choices of as many sets of domains as there are proposals. If one is not taken, the next is.
    """
    best = chosen(machines, sites="domain", each=True)
    if not math.isfinite(best.choice.schedule.prediction.time):
        raise InputError(machines.file, None, "a link of the choice is not known, so --iterations has no time to count")
    each = [found for _, found in best.choice.of_collections if isinstance(found, Schedule)] or [best.choice.schedule]
    schedules = sorted(each, key=lambda found: found.prediction.time)[: terms.most]
    found: list[tuple[float, float, _Option]] = []
    for schedule in schedules:
        selection = replace(best, choice=replace(best.choice, schedule=schedule))
        option = _Option(selection, parts(machines.file, selection))
        wait = _latest(option, _answers(option.jobs, terms))
        if wait is not None:
            found.append((wait + iterations * schedule.prediction.time, wait, option))
    if not found:
        raise InputError(machines.file, None, f"none of {count(len(schedules), 'choice')} can be started")
    for total, wait, option in sorted(found, key=lambda each: each[0]):
        start = f"in {duration(wait)}" if wait else "now"
        say(f"of {count(len(found), 'choice')}, one that starts {start} is done first: in {duration(total)}")
        try:
            return option.submitted(submit)
        except NotTaken as error:
            say(error.message)
    raise Failure(NOTHING_TAKEN, FAILED)


def _latest(option: _Option, answers: Mapping[str, Answer]) -> float | None:
    """Return the latest start of the jobs of a choice; None, and a line for each domain that does not say: unknown."""
    for domain, (wait, _) in answers.items():
        if isinstance(wait, str):
            say(printable(f"{domain} cannot start {option.selection.title}: {wait}"))
    waits = [wait for wait, _ in answers.values() if not isinstance(wait, str)]
    return max(waits) if len(waits) == len(answers) else None


def _answers(jobs: Sequence[Part], terms: Terms) -> Mapping[str, Answer]:
    """Ask all domains at once how long their jobs would wait."""
    calls = [(partial(_asked, part, terms.time_limit), PATIENCE) for part in jobs]
    with progress("proposing machines to their domains ..."):
        told = zip(jobs, answers(calls), strict=True)
    late = f"no answer within {PATIENCE:g} s"
    return {job.domain: said.value or Answer(str(said.error or late), job.nodelist is not None) for job, said in told}


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


def _left_out(machines: Sequence[Machine], selection: Selection, domain: str, *, by_name: bool) -> set[str]:
    """Return the machines that a refusal takes out: those that were named, or so many that one fewer is left.

    Whoever gives nodes by their number does not say which of them it refuses.
    """
    proposed = [machine.name for machine in selection.choice.schedule.map.machines if machine.domain == domain]
    if by_name:
        return set(proposed)
    stay = set(proposed[:-1])
    return {machine.name for machine in machines if machine.domain == domain and machine.name not in stay}


def submit_selected(
    file: str, problem: tuple[str, int], strategy: str, terms: Terms, submit: Submit, reselect: float | None
) -> None:
    """Submit the jobs of an application and its size on the machines of a file that are chosen for it.

    With `reselect`, wait for the start; if the predicted time gets so much longer before, choose anew, once.
    """

    def ask() -> Known:
        return known(file, problem_of(*problem), strategy)

    selection, jobs = submit_best(ask(), terms, submit)
    if reselect is not None and were_dropped(jobs, selection, reselect, ask):
        submit_best(ask(), terms, submit)
