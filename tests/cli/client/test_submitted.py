"""What is told of a job in a batch system, whose mate's domain answers a little later."""

from types import SimpleNamespace

from cosched.cli.client import submitted


class Domain:
    """It looks at the job when it is asked, and asks for the mate then; `answers` come one by one."""

    def __init__(self, *answers: str | None) -> None:
        self.answers = list(answers)

    def job(self, _: str) -> SimpleNamespace:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return SimpleNamespace(mates=[SimpleNamespace(lookup=answer)])


def test_the_answer_of_a_peer_that_is_there_is_waited_for(monkeypatch):
    monkeypatch.setattr(submitted.time, "sleep", lambda _: None)
    for answers, known in ((("unsubmitted",), "unsubmitted"), ((None, None, "found"), "found"), ((None,), None)):
        assert submitted.look_up(Domain(*answers), "1").mates[0].lookup == known
