"""How jobs name their mates by resources."""

import pytest

from cosched.core.protocol import Named, named_group, named_mate
from cosched_adapters.mate_fields import WordError, find, is_adoptable, words

MATES = [
    (named_mate("", "flow"), {"pair": "flow"}),
    (named_mate("eureka", mate="17"), {"mate": "eureka:17"}),
    (named_mate("", "flow", or_alone=True), {"pair": "flow", "or_alone": "true"}),
    (named_mate("eureka", "flow"), {"group": "flow@eureka"}),
    (named_group("a@b,c", ("eureka", "polaris")), {"group": "a@b,c@eureka+polaris"}),
]


@pytest.mark.parametrize(("named", "resources"), MATES)
def test_found_and_written(named: Named, resources: dict[str, str]) -> None:
    assert find(resources) == named
    assert {name: value for name, value in words(named).items() if value} == resources


def test_none_and_its_removal() -> None:
    assert find({}) is None
    assert find({"or_alone": "True"}) is None
    assert words(None) == {"pair": "", "mate": "", "group": "", "or_alone": ""}


def test_a_job_that_may_be_adopted_names_nobody_and_keeps_that_word_over_a_removal() -> None:
    assert (find({"adoptable": "True"}), is_adoptable({"adoptable": "True"})) == (None, True)
    assert not is_adoptable({"adoptable": "False"})
    assert not is_adoptable({"pair": "flow"})
    assert "adoptable" not in words(named_mate("", "flow")), "a site that has not created it can name mates as before"


def test_the_order_of_a_group_s_domains_does_not_matter() -> None:
    assert find({"group": "flow@polaris+eureka"}) == named_group("flow", ("eureka", "polaris"))


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
        words(named_mate("a b", mate="1"))
