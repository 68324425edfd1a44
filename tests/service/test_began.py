"""A job runs when its manager says so; how far apart the jobs of a pair began is on record on both sides, with why."""

import pytest

from cosched.client.jobs import Job
from cosched.core.coscheduling.membership import Membership
from cosched.core.protocol import Failure, StartJob, Window, named_group, named_mate
from cosched.service.api.views import Views
from cosched.service.domain.began import Began, Late, gap_of
from cosched.service.peers import gaps
from cosched.service.peers.clock_offset import Offset
from cosched.service.peers.gaps import Gaps
from cosched.service.peers.peers import CallError
from cosched.service.tasks import Tasks
from cosched.v1 import coscheduling_pb2 as wire
from tests.service.offered_site import NOW, Site
from tests.waiting import until

SECOND = 1_000_000_000  # ns
PAIR = Membership.named("a", named_mate("b", "p"))
GROUP = Membership.named("a", named_group("g", ("b", "c")))
WINDOWS = Membership.named("a", named_group("g", ("b",), windows=(Window("b", 60, 90),)))


def began(at: float, ordered: float | None = None, since: float = 0) -> Began:
    return Began(at, at if ordered is None else ordered, since)


@pytest.mark.parametrize(
    ("own", "others", "group", "gap"),
    [
        (began(105), {"b": began(100)}, PAIR, (5, "b", Late.ORDERED_LATE)),
        (began(105, ordered=100), {"b": began(100)}, PAIR, (5, "b", Late.MANAGER)),
        (began(105, ordered=100, since=103), {"b": began(100)}, PAIR, (5, "b", Late.RESTARTED)),
        (began(100, since=103), {"b": began(105, ordered=100, since=99)}, PAIR, (-5, "b", Late.MANAGER)),
        (began(100), {"b": began(105, since=104)}, PAIR, (-5, "b", Late.RESTARTED)),
        (began(105), {"b": began(100), "c": began(103)}, GROUP, (5, "b", Late.ORDERED_LATE)),
        (began(103), {"b": began(100), "c": began(105)}, GROUP, (3, "b", Late.ORDERED_LATE)),
        (began(100), {"b": began(101), "c": began(105)}, GROUP, (-5, "c", Late.ORDERED_LATE)),
        (began(100), {"b": began(175)}, WINDOWS, (0, "b", Late.ORDERED_LATE)),
        (began(125), {"b": began(175)}, WINDOWS, (10, "b", Late.ORDERED_LATE)),
    ],
)
def test_a_gap_is_measured_from_the_first_or_else_to_the_last_and_its_cause_is_the_later_s(own, others, group, gap):
    assert gap_of(own, others, group) == gap


def shown(site: Site) -> Job:
    record = site.domain.jobs.get("1") or site.store.job(1)
    return Job(Views(site.domain, site.clock).job(record))


def story_of(site: Site) -> list[str]:
    views = Views(site.domain, site.clock)
    return [views.event(event).text for event in site.store.events(0, [1], [], 100)]


def started_together(site: Site) -> None:
    site.submit(1)
    site.hold(1)
    site.ask(StartJob("b/1/1", "1", "1", 1))


def test_beside_a_batch_system_a_job_is_starting_until_that_has_begun_it(site):
    started_together(site)
    job = shown(site)
    assert (job.state, job.reason, job.started_at) == ("starting", "BatchSystem", None)
    assert story_of(site)[-1] == "starts as soon as its batch system begins it: asked by b"
    site.clock.instant += 7
    site.domain.started("1", (NOW + 5) * SECOND + SECOND // 2)
    job = shown(site)
    assert (job.state, job.reason, int(job.started_at.timestamp())) == ("running", "", NOW + 5)
    assert story_of(site)[-1] == "has begun, 6 s after its start was ordered"


def test_a_job_that_starts_at_an_agreed_instant_waits_for_that_first(site):
    started_together(site)
    site.domain.jobs["1"].job.start_at = NOW + 2
    assert shown(site).reason == "AgreedStart"
    site.clock.instant += 2
    assert shown(site).reason == "BatchSystem"


def test_a_job_began_not_before_it_was_told_to_though_it_had_its_nodes(site):
    started_together(site)
    site.domain.started("1", (NOW - 900) * SECOND)
    assert site.domain.jobs["1"].began_at == NOW


def test_a_job_that_was_not_told_to_start_began_when_its_batch_system_says(site):
    site.submit(1)
    site.domain.started("1", (NOW - 900) * SECOND)
    assert (shown(site).state, site.domain.jobs["1"].began_at) == ("running", NOW - 900)


# The mate's start


class Mate:
    """Domain b, which answers GetMateStatus so, the last answer for ever; its clock is an hour ahead."""

    def __init__(self, *answers: wire.GetMateStatusResponse | CallError) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def status(self, peer: str, question: wire.GetMateStatusRequest) -> wire.GetMateStatusResponse:
        assert (peer, question.job.job_id, question.caller.job_id) == ("b", "1", "1")
        self.asked += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, CallError):
            raise answer
        return answer

    async def compare_clocks(self, _: str) -> Offset:
        return Offset(3600.0, 0.001)


def status(ordered: float, at: float | None = None, since: float = 0.0) -> wire.GetMateStatusResponse:
    """By the clock of b."""
    told = wire.GetMateStatusResponse(status=wire.MATE_STATUS_RUNNING)
    told.started_at.seconds = int(ordered) + 3600
    if at is not None:
        told.began_at.FromMilliseconds(round(1000 * (at + 3600)))
        told.serving_since.FromMilliseconds(round(1000 * (since + 3600)))
    return told


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gaps, "PAUSES", (0.0,) * 5)


async def learnt(site: Site, mate: Mate) -> Gaps:
    """Job 1 begins a second and a half after it was told to, and its domain learns when its mate began."""
    found = Gaps(site.domain, mate, Tasks(pytest.fail), 0.0)
    site.domain.on_began = found.begun
    started_together(site)
    site.domain.started("1", (NOW + 1) * SECOND + SECOND // 2)
    await until(lambda: site.domain.jobs["1"].apart_s is not None)
    return found


AWAY = CallError(Failure.UNREACHABLE, "is away")


@pytest.mark.parametrize(
    ("answers", "gap", "line"),
    [
        ([status(NOW, NOW + 1.25)], 0.25, None),
        ([AWAY, status(NOW), status(NOW, NOW)], 1.5, "began 1.5 s after its mate b:1: its resource manager was late"),
        (
            [status(NOW), status(NOW, NOW + 6.5, since=NOW + 5)],
            -5,
            "its mate b:1 began 5.0 s later: that service was restarted meanwhile",
        ),
        ([status(NOW + 30, NOW + 30.5)], -29, "its mate b:1 began 29 s later: that start was ordered only then"),
        ([status(NOW - 1)], 2.5, "began 2.5 s after its mate b:1: its resource manager was late"),  # an older version
    ],
)
async def test_the_gap_is_what_the_managers_say_by_one_clock(site, answers, gap, line):
    before = site.domain.metrics.pair_gap._sum.get()
    await learnt(site, Mate(*answers))
    assert site.domain.jobs["1"].apart_s == gap
    assert shown(site).mates[0].gap.total_seconds() == gap
    assert site.store.job(1).apart_s == gap
    assert [text for text in story_of(site) if "mate b:1" in text and "began" in text] == ([line] if line else [])
    assert site.domain.metrics.pair_gap._sum.get() - before == pytest.approx(abs(gap))


async def test_who_asks_for_a_job_that_began_hears_when_and_is_asked_back(site):
    found = await learnt(site, Mate(status(NOW), status(NOW, NOW + 1.5)))
    told = status(NOW)
    found.answer("1", told)
    assert told.began_at.ToMilliseconds() == 1000 * NOW + 1500
    record = site.domain.jobs["1"]
    record.apart_s = None  # the mate had not begun while it was asked
    found.answer("1", told)
    await until(lambda: record.apart_s is not None)


async def test_a_job_that_has_not_begun_is_not_said_to_have(site):
    found = Gaps(site.domain, Mate(AWAY), Tasks(pytest.fail), 0.0)
    started_together(site)
    told = status(NOW)
    found.answer("1", told)
    assert not told.HasField("began_at")


async def test_a_mate_that_never_began_leaves_no_gap(site):
    mate = Mate(wire.GetMateStatusResponse(status=wire.MATE_STATUS_FAILED))
    found = Gaps(site.domain, mate, Tasks(pytest.fail), 0.0)
    started_together(site)
    site.domain.started("1", NOW * SECOND)
    found.begun("1")
    await until(lambda: "1" not in found._asking)
    assert (mate.asked, site.domain.jobs["1"].apart_s) == (1, None)


async def test_a_restarted_service_learns_what_it_had_not(site):
    started_together(site)
    site.domain.started("1", NOW * SECOND)
    again = Site(site.store)
    found = Gaps(again.domain, Mate(status(NOW, NOW)), Tasks(pytest.fail), 0.0)
    found.resume()
    await until(lambda: again.domain.jobs["1"].apart_s == 0)
