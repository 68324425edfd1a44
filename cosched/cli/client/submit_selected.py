"""`cosched submit --select`: what is chosen is submitted, and seen to until it starts if that is asked for."""

from __future__ import annotations

from cosched.cli.client.proposing import Submit, Terms, submit_best
from cosched.cli.client.reselecting import were_dropped
from cosched.cli.selection import Known, known
from cosched.planning.problem import problem_of


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
