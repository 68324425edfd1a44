"""What a job does when others end, as words of Slurm's comments and PBS's resources."""

import pytest

from cosched.core.protocol import Terms, Window, named_group, named_mate
from cosched.core.settings import OnMemberRequeued
from cosched_adapters import mate_fields as pbs
from cosched_adapters.slurm import comments as slurm

PAIR, GROUP = named_mate("eureka", mate="17"), named_group("run7", ("eureka", "mira"))
TERMS = [
    Terms(("eureka",)),
    Terms(fail_together=True),
    Terms(if_requeued=OnMemberRequeued.REQUEUE, together_for=600),
    Terms(("eureka",), True, OnMemberRequeued.END),
]


@pytest.mark.parametrize("named", [PAIR, named_mate("", "run7"), GROUP])
@pytest.mark.parametrize("terms", TERMS, ids=str)
def test_terms_come_back_as_they_were(named, terms):
    named = named._replace(terms=terms)
    assert slurm.find(slurm.word(named)) == named
    assert pbs.find(pbs.words(named)) == named


def test_terms_stand_beside_windows():
    windows = (Window("mira", 0, 600),)
    named = named_group("run7", ("mira",), windows=windows)._replace(terms=Terms(("mira",)))
    assert slurm.find(slurm.word(named)) == named


@pytest.mark.parametrize(
    ("comment", "why"),
    [
        ("cosched:pair=p cosched:if-requeued=perhaps", "if_requeued is continue, requeue, end"),
        ("cosched:pair=p cosched:together-for=long", "'long' is not a duration"),
        ("cosched:pair=p cosched:ends-with=a cosched:ends-with=b", "says twice"),
        ("cosched:pair=p cosched:ends-with=a+a", "domain 2 of ends_with"),
        ("cosched:ends-with=a", "has no effect without"),
    ],
)
def test_wrong_words_in_a_comment_are_told(comment, why):
    with pytest.raises(slurm.CommentError, match=why):
        slurm.find(comment)


@pytest.mark.parametrize(
    ("words", "why"), [({"if_requeued": "perhaps"}, "if_requeued is"), ({"together_for": "x"}, "x")]
)
def test_wrong_resources_are_told(words, why):
    with pytest.raises(pbs.WordError, match=why):
        pbs.find({"pair": "p", **words})
