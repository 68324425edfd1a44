"""Questions that a simulation leaves out change nothing."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from cosched.core.settings import CoschedulingSettings, Scheme
from cosched_sim.domain_setup import DomainSetup
from cosched_sim.questions import SkippableQuestions
from cosched_sim.workload.generate import generate
from cosched_sim.workload.pairing import Pairing, groups_at_random
from tests.sim.federated import simulated
from tests.sim.test_groups import setup


def federation(schemes: list[Scheme]) -> tuple[list[DomainSetup], Pairing]:
    """Three busy machines, and half of all jobs in groups of two or three."""
    works = [generate("eureka", jobs=60, utilisation=0.95, seed=seed) for seed in (1, 2, 3)]
    cluster = setup("A", [(0, 1, 1, 1)]).cluster
    domains = [
        DomainSetup(name, work, replace(cluster, nodes=100), CoschedulingSettings(scheme))
        for name, work, scheme in zip("ABC", works, schemes, strict=True)
    ]
    return domains, groups_at_random(works, "0.5", range(2, 4), 1)


@pytest.mark.parametrize("schemes", [[Scheme.YIELD] * 3, [Scheme.YIELD, Scheme.HOLD, Scheme.YIELD]])
def test_leaving_them_out_changes_nothing(monkeypatch, schemes):
    case = federation(schemes)
    left_out: list[bool] = []
    monkeypatch.setattr(SkippableQuestions, "in_vain", noting(SkippableQuestions.in_vain, left_out))
    found = simulated(*case)
    assert sum(left_out) > 20
    monkeypatch.setattr(SkippableQuestions, "in_vain", lambda *_: False)
    assert simulated(*case) == found


def noting(
    answer: Callable[[SkippableQuestions, int], bool], answers: list[bool]
) -> Callable[[SkippableQuestions, int], bool]:
    def noted(questions: SkippableQuestions, row: int) -> bool:
        answers.append(answer(questions, row))
        return answers[-1]

    return noted
