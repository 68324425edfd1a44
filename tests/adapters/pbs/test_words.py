"""How jobs name their mates by resources."""

import pytest

from cosched.adapters.batch_system import Link
from cosched.adapters.pbs.words import WordError, find, is_adoptable, words

MATES = [
    (Link(pair="flow"), {"pair": "flow"}),
    (Link(peer="eureka", mate="17"), {"mate": "eureka:17"}),
    (Link(pair="flow", or_alone=True), {"pair": "flow", "or_alone": "true"}),
    (Link(peer="eureka", pair="flow"), {"group": "flow@eureka"}),
    (Link(pair="a@b,c", others=("eureka", "polaris")), {"group": "a@b,c@eureka+polaris"}),
]


@pytest.mark.parametrize(("link", "resources"), MATES)
def test_found_and_written(link: Link, resources: dict[str, str]) -> None:
    assert find(resources) == link
    assert {name: value for name, value in words(link).items() if value} == resources


def test_none_and_its_removal() -> None:
    assert find({}) is None
    assert find({"or_alone": "True"}) is None
    assert words(None) == {"pair": "", "mate": "", "group": "", "or_alone": ""}


def test_a_job_that_may_be_adopted_names_nobody_and_keeps_that_word_over_a_removal() -> None:
    assert (find({"adoptable": "True"}), is_adoptable({"adoptable": "True"})) == (None, True)
    assert not is_adoptable({"adoptable": "False"})
    assert not is_adoptable({"pair": "flow"})
    assert "adoptable" not in words(Link(pair="flow")), "a site that has not created it can name mates as before"


def test_the_order_of_a_group_s_domains_does_not_matter() -> None:
    assert find({"group": "flow@polaris+eureka"}) == Link(pair="flow", others=("eureka", "polaris"))


@pytest.mark.parametrize(
    "resources",
    [
        *({"pair": "a b"}, {"pair": "a", "mate": "b:1"}, {"mate": "b"}, {"mate": ":1"}, {"mate": "b:"}),
        *({"group": "g"}, {"group": "g@"}, {"group": "@a+b"}, {"group": "7@a+b"}, {"group": "g@a+a"}),
        *({"group": "g@a+"}, {"pair": "a", "group": "g@a+b"}),
        {"group": "g@" + "+".join(f"d{number}" for number in range(16))},
    ],
)
def test_mistakes(resources: dict[str, str]) -> None:
    with pytest.raises(WordError):
        find(resources)


def test_a_mate_that_cannot_be_written() -> None:
    with pytest.raises(WordError):
        words(Link(peer="a b", mate="1"))
