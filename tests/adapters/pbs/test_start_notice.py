"""How long before an agreed instant qrun is called."""

import pytest

from cosched_adapters.pbs.manager import FROM_ORDER_TO_JOB, StartNotice


def test_it_is_the_most_before_the_first_call_and_never_more() -> None:
    notice = StartNotice(0.08)
    assert notice.seconds == 0.08
    notice.note(5)
    assert notice.seconds == 0.08


def test_it_follows_the_last_calls_and_a_single_slow_one_changes_nothing() -> None:
    notice = StartNotice(0.08)
    for seconds in (3, 0.03, 0.03, 0.03, 2, 0.03):
        notice.note(seconds)
    assert notice.seconds == pytest.approx(0.03 + FROM_ORDER_TO_JOB)
