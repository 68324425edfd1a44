"""Notes which questions a simulation leaves out."""

import pytest

from cosched_sim.questions import Member, Questions


def noting(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """What is found of each question from now on: whether it is left out."""
    answers, answer = list[bool](), Questions.in_vain

    def noted(questions: Questions, job: Member) -> bool:
        answers.append(answer(questions, job))
        return answers[-1]

    monkeypatch.setattr(Questions, "in_vain", noted)
    return answers
