"""What bounds the starts before their turn of an owner's jobs (meet.md, Abuse)."""

from decimal import Decimal
from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from cosched.core.scheduling.starts import RecentStarts, Starts

HOUR = 3600
DAY = 24 * HOUR
HAPPENED = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 5 * DAY), st.none() | st.integers(0, 99)))
SHARES = st.sampled_from(["0", "0.1", "0.333333", "0.5", "0.999999", "1"]).map(Decimal)


@given(happened=HAPPENED, share=SHARES, restarts=st.booleans())
def test_it_counts_the_present_hour_and_the_167_before(happened, share, restarts):
    starts, now, log = RecentStarts(share), 0, []
    kept: dict[tuple[str, int], Starts] = {}
    for owner, pause, pushed in happened:
        now += pause
        log.append((owner, now, pushed))
        starts.count(owner, now, pushed)
        kept |= starts.take_changed()
        if restarts:
            starts = RecentStarts(share)
            starts.recall((*key, sums) for key, sums in kept.items())
        for name in "ab":
            recent = [p for who, at, p in log if who == name and at // HOUR > now // HOUR - 168]
            before = [p for p in recent if p is not None]
            assert starts.by_owner(now).get(name, Starts()) == (len(recent), len(before), sum(before))
            most = ceil(share * (len(recent) + 1))
            assert starts.may_start_before_turn(name, now) == (len(before) + 1 <= most)


def test_what_is_a_week_old_is_forgotten():
    starts = RecentStarts(Decimal("0.5"))
    starts.count("ann", 10, 5)
    assert not starts.may_start_before_turn("ann", 7 * DAY - 1)
    assert starts.may_start_before_turn("ann", 7 * DAY)
    assert starts.by_owner(7 * DAY) == {}


def test_only_what_has_changed_is_told():
    starts = RecentStarts()
    starts.count("ann", 10, 5)
    starts.count("ann", 20, None)
    assert starts.take_changed() == {("ann", 0): (2, 1, 5)}
    assert starts.take_changed() == {}
