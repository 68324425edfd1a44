"""Members of groups where the resource manager schedules: what it is told while others are asked, and afterwards."""

import pytest

from cosched.core.effects import Start, TryReady, Yield
from cosched.core.job import JobState
from cosched.core.protocol import GetMateStatus, GetMember, ProposeGroupStart, SettleGroupStart, named_group, named_mate
from cosched.service.domain.story import Noted
from tests.service.job_records import queued
from tests.service.offered_site import NOW, Site
from tests.service.replies import BOOKED, NO, QUEUING, UNSUBMITTED, mate_is

DOMAINS = ("a", "b", "c")


@pytest.fixture
def site(store) -> Site:
    """Domain a, with job 1 in group g, whose others are b's job 1 and c's job 1."""
    site = Site(store)
    submit(site, 1)
    return site


def submit(site: Site, job: int, group: str = "g") -> None:
    site.offered.submitted(queued(job, 2, 0, NOW, owner="ann", named=named_group(group, ("b", "c"))))
    for peer in "bc":
        site.ask(GetMember(str(job), group, DOMAINS, "ann"), peer)


def propose(site: Site, number: int, job: int = 1) -> object:
    return site.ask(ProposeGroupStart(f"b/{job}/{number}", str(job), str(job), 0, 60))


def settle(site: Site, number: int, *, start: bool) -> None:
    site.ask(SettleGroupStart(f"b/1/{number}", "1", "1", start=start))


def yields(site: Site) -> None:
    site.offer(1)
    for call in site.outside.calls[-2:]:
        site.domain.calls.answered(call, UNSUBMITTED)
    assert site.state(1) is JobState.QUEUED


def test_an_offer_is_kept_until_the_group_starts(site: Site) -> None:
    assert propose(site, 1) is None  # the answer comes later
    assert site.orders == [TryReady("1")]
    site.offered.tried("1", True)
    assert propose(site, 1) == BOOKED
    assert (site.orders, site.state(1)) == ([], JobState.READY)
    settle(site, 1, start=True)
    assert site.orders == [Start("1")]


def test_a_try_that_fails_is_a_no_and_a_late_offer_is_the_jobs_own_turn(site: Site) -> None:
    propose(site, 1)
    site.offered.tried("1", False)
    assert propose(site, 1) is None  # tried again
    assert [type(order) for order in site.orders] == [TryReady, TryReady]
    site.offered.tried("1", False)
    site.offered.tried("1", True)
    assert [type(call.request) for call in site.outside.calls] == [GetMember, GetMember]


@pytest.mark.parametrize("when", ["after the try", "during the try"])
def test_what_is_dropped_is_the_jobs_own_turn_on_the_nodes_that_it_has(site: Site, when: str) -> None:
    propose(site, 1)
    if when == "during the try":
        settle(site, 1, start=False)
        site.offered.tried("1", True)
    else:
        site.offered.tried("1", True)
        settle(site, 1, start=False)
    assert site.orders == [TryReady("1")]
    assert site.state(1) is JobState.READY
    assert [call.peer for call in site.outside.calls] == ["b", "c"]
    assert propose(site, 1) == NO


def test_a_job_that_has_yielded_gives_its_nodes_back(store) -> None:
    site = Site(store, scheme="yield")
    submit(site, 1)
    yields(site)
    propose(site, 1)
    site.offered.tried("1", True)
    settle(site, 1, start=False)
    assert site.orders == [Yield("1", 1.0), TryReady("1"), Yield("1", 1.0, 1)]
    assert site.state(1) is JobState.QUEUED
    assert site.domain.core.jobs["1"].yields == 1


def test_a_job_that_leaves_its_group_during_a_try_starts_when_it_is_offered(site: Site) -> None:
    propose(site, 1)
    site.offered.relinked("1", None)
    assert propose(site, 1) == NO
    site.offered.tried("1", True)
    assert site.orders[-1] == Start("1")


@pytest.mark.parametrize("named", [named_group("h", ("b", "c")), named_mate("b", "p", None)])
def test_a_comment_that_names_another_group_or_mate_changes_nothing(site: Site, named) -> None:
    site.offered.relinked("1", named)
    assert site.domain.core.jobs["1"].group.name == "g"
    assert site.store.events(0, [1], [], 100)[-1].what == Noted.STAYS


def test_a_second_job_of_a_group_is_refused(site: Site) -> None:
    submit(site, 2)
    assert site.state(2) is None


def test_of_two_groups_that_wait_for_each_others_nodes_one_gives_way(site: Site) -> None:
    """Job 1 has nodes and proposes; job 2 is tried for its group, and perhaps waits for these nodes."""
    submit(site, 2, "h")
    site.offer(1)
    for kind, answer in ((GetMember, mate_is("1")), (GetMateStatus, QUEUING)):
        for call in [call for call in site.outside.calls if type(call.request) is kind]:
            site.domain.calls.answered(call, answer)
    assert type(site.outside.calls[-1].request) is ProposeGroupStart
    gave_way = set()
    for minute in range(8):
        site.clock.instant = NOW + 60 * minute
        propose(site, minute + 1, 2)
        site.offered.give_way("2")
        gave_way.add("2" not in site.scheduler.trying)
        site.offered.tried("2", False)
    assert gave_way == {True, False}  # each in its turn
