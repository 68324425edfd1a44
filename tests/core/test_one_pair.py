"""The page that shows one pair's start says what happens."""

from tests.core.one_pair import on_the_page, trace


def test_the_start_of_one_pair_is_as_on_the_page():
    assert trace() == on_the_page()
