"""`cosched submit --select --reselect`: jobs are watched until they start, and chosen anew if what is known gets worse.

Nothing is dropped once a job runs: the domain itself refuses that.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from cosched.cli.client.connection import connected_to
from cosched.cli.output.plain_text import printable
from cosched.cli.output.terminal import say
from cosched.cli.selection import Known, Selection
from cosched.client.waiting import STARTED, pauses
from cosched.planning.application import Map
from cosched.planning.sites import FINDERS

PAUSE = 30.0  # seconds until the sources of information are asked again
Submitted = tuple[str, str]  # a domain, and a job there


def were_dropped(jobs: Sequence[Submitted], selection: Selection, ratio: float, ask: Callable[[], Known]) -> bool:
    """Watch jobs until they start (False), or drop them if they would take `ratio` times the predicted time (True).

    `ask` returns what is known now. Failure: a domain does not answer.
    """
    promised, asked = selection.choice.schedule.prediction.time, time.monotonic()
    for pause in pauses():
        time.sleep(pause)
        if any(map(_has_started, jobs)):
            break
        if time.monotonic() - asked >= PAUSE:
            predicted, asked = time_now(selection, ask()), time.monotonic()
            if predicted > ratio * promised:
                return _dropped(jobs, predicted / promised)
    return False


def time_now(selection: Selection, known: Known) -> float:
    """Return the time of the map that was chosen, with what is known now; infinite if a machine cannot be used.

    A machine that others have now will be free when the jobs start: it counts as it did when it was chosen.
    """
    chosen, problem = selection.choice.schedule.map, known.problem
    before = {machine.name: machine for machine in chosen.machines}
    now = {machine.name: machine for machine in known.grid.machines}
    if not now.keys() >= before.keys():
        return math.inf
    now |= {name: replace(now[name], cpu=machine.cpu) for name, machine in before.items() if not now[name].cpu}
    grid = known.grid.among(now.values())
    model, _ = problem.application.make(problem.size, problem.settings, grid, FINDERS[selection.found_by](grid))
    return model.predict(Map(tuple(now[name] for name in before), chosen.shares, chosen.boxes)).time


def _has_started(submitted: Submitted) -> bool:
    domain, job = submitted
    with connected_to(domain) as client:
        return client.job(job).state in STARTED


def _dropped(jobs: Sequence[Submitted], slower: float) -> bool:
    """Cancel the jobs, unless the first of them runs by now; whether they are cancelled."""
    from cosched.client import ClientError

    for place, (domain, job) in enumerate(jobs):
        with connected_to(domain) as client:
            try:
                client.cancel(job, unless_started=place == 0)
            except ClientError as error:
                if place == 0 and error.reason == "JOB_STATE":
                    return False
                say(printable(f"{domain}:{job} could not be cancelled: {error}: cancel it"))
    named = " and ".join(map(":".join, jobs))
    why = f"would take {slower:.2f} times as long" if math.isfinite(slower) else "cannot run on these machines any more"
    say(printable(f"{named} {'was' if len(jobs) == 1 else 'were'} dropped: it {why}"))
    return True
