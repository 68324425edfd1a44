"""A pair is named without its mate's domain: with one peer that is meant, with several `default_peer`, else jobs wait.

Beside a batch system, and where jobs are submitted to the domain itself.
"""

import asyncio
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest

from cosched.cli.client.wording import mate_found
from cosched.client.jobs import Job
from cosched.core.effects import Start
from cosched.core.job import JobState
from cosched.core.protocol import Named, named_group, named_mate
from cosched.core.settings import OnMateUnknown
from cosched.service.api.named_mates import NamedMates
from cosched.service.api.views import Views
from cosched.service.manager.offers import Offers
from cosched.service.manager.plans import Plan
from cosched.service.manager.queues import BatchQueue
from cosched.service.peers.announcing import Announcer
from cosched.service.peers.linking import Coupled
from cosched.service.peers.peers import PeerClients
from cosched.service.planning.near_names import Sought, unclear
from cosched.service.planning.reasons import Reasons
from cosched.service.store import Store
from cosched.service.tasks import Tasks
from cosched.service.wire.errors import Refusal
from cosched_adapters.batch_system import Appeared, Known, Relinked
from cosched_adapters.slurm.comments import find, word
from tests.service.offered_site import NOW, Site

BOTH = ["b", "c"]
SAID = "pair run7 is named without its mate's domain, and there are several: write group=run7@b or group=run7@c"


class Offered:
    """Domain a beside a batch system, which has job 1 of pair run7. Its peers give no answer."""

    def __init__(self, store: Store, coupled: Coupled, **settings: Any) -> None:
        self.site, self.tasks = Site(store, **settings), Tasks(pytest.fail)
        domain, self.peers = self.site.domain, PeerClients("a", (), 1.0, None, lambda _: None)
        system = SimpleNamespace(mate_field="comment")
        self.announcer = Announcer(domain, self.peers, self.tasks)
        self.offers = Offers(domain, self.site.offered, system, self.announcer, coupled, self.tasks)

    async def appears(self, named: Named) -> None:
        self.offers.hear(Appeared("1", NOW, 2, "ann", named))
        await self.idle()

    async def idle(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)

    async def chosen(self) -> JobState | None:
        """The batch system chooses it; what it asks is answered as by its service."""
        self.site.offer(1)
        for call in self.site.outside.calls:
            self.site.domain.calls.answered(call, await self.peers.call(call.peer, call.request))
        return self.site.state(1)


@pytest.mark.parametrize(
    ("coupled", "peer"),
    [(Coupled(["b"]), "b"), (Coupled(BOTH, "c"), "c"), (Coupled(BOTH), "b|c"), (Coupled([], ""), None)],
)
async def test_which_domain_is_meant(store: Store, coupled: Coupled, peer: str | None) -> None:
    made = Offered(store, coupled)
    await made.appears(named_mate("", "run7"))
    record = made.site.domain.jobs.get("1")
    assert (None if record is None else record.named) == (named_mate(peer, "run7") if peer else None)


async def test_a_job_that_does_not_name_one_of_several_domains_waits_and_says_so_everywhere(store: Store, caplog):
    made = Offered(store, Coupled(BOTH), on_mate_unknown=OnMateUnknown.WAIT)
    await made.appears(named_mate("", "run7"))
    assert await made.chosen() is JobState.QUEUED
    assert Start("1") not in made.site.orders
    domain, record = made.site.domain, made.site.domain.jobs["1"]
    assert record.reason == "MateUnknown"
    assert f"job 1 of ann waits: {SAID}" in caplog.text
    views = Views(domain, domain.clock)
    assert mate_found(Job(views.job(record)).mates[0]) == f"{SAID}: it waits until it is linked or unlinked"
    told = [views.event(event).text for event in store.events(0, (), (), -1)]
    assert f"{SAID}: it waits until it is linked or unlinked" in told
    reason = Reasons(domain).of(record, Plan(NOW))
    assert reason.text == SAID
    assert "cosched link 1 names another" in reason.change


async def test_who_waits_for_such_a_job_hears_why_it_is_nobody_s_mate(store: Store) -> None:
    made = Offered(store, Coupled(BOTH), on_mate_unknown=OnMateUnknown.WAIT)
    await made.appears(named_mate("", "run7"))
    domain, sought = made.site.domain, Sought("ann", "run7", of_group=False)
    for peer in BOTH:
        assert unclear(domain, peer, sought) == f"job 1 on a has no mate: {SAID}"
    for peer, other in (("d", sought), ("b", sought._replace(owner="bob")), ("b", sought._replace(name="run8"))):
        assert unclear(domain, peer, other) == ""
    made.offers.hear(Relinked("1", named_mate("c", "run7")))
    await made.idle()
    assert unclear(domain, "b", sought) == ""


async def test_a_job_that_would_start_alone_does(store: Store) -> None:
    made = Offered(store, Coupled(BOTH), on_mate_unknown=OnMateUnknown.WAIT)
    await made.appears(named_mate("", "run7", or_alone=True))
    assert await made.chosen() is JobState.RUNNING


async def test_a_job_that_names_the_domain_later_has_its_mate_there(store: Store) -> None:
    made = Offered(store, Coupled(BOTH))
    await made.appears(named_mate("", "run7"))
    made.offers.hear(Relinked("1", named_mate("c", "run7")))
    await made.idle()
    assert made.site.domain.jobs["1"].named == named_mate("c", "run7")


async def test_a_job_that_no_longer_names_the_domain_does_not_start_alone(store: Store) -> None:
    made = Offered(store, Coupled(BOTH), on_mate_unknown=OnMateUnknown.WAIT)
    await made.appears(named_mate("c", "run7"))
    made.offers.hear(Relinked("1", named_mate("", "run7")))
    await made.idle()
    assert made.site.domain.jobs["1"].named == named_mate("b|c", "run7")


@pytest.mark.parametrize("others", [("a",), ("a", "b"), ("b", "d")])
async def test_a_job_that_names_a_group_later_which_cannot_be_has_no_mates(store: Store, others: tuple[str, ...]):
    """Its own domain, or an unknown one: a user who writes that would end the service."""
    made, broken = Offered(store, Coupled(BOTH)), list[BaseException]()
    made.site.outside.broken = broken.append
    await made.appears(named_mate("c", "run7"))
    for named in (None, named_group("g", others)):
        made.offers.hear(Relinked("1", named))
        await made.idle()
    assert (made.site.domain.jobs["1"].mates, broken) == ({}, [])


@pytest.mark.parametrize(
    ("coupled", "peer"),
    [(Coupled(BOTH, "b"), "b"), (Coupled(["c"]), "c"), (Coupled(BOTH), "b|c"), (Coupled([*BOTH, "d"]), "b|c|d")],
)
async def test_after_a_restart_the_configuration_may_tell_which_is_meant(store: Store, coupled: Coupled, peer: str):
    await Offered(store, Coupled(BOTH)).appears(named_mate("", "run7"))
    again = Offered(store, coupled)
    await again.offers.take_up({"1": Known("1", NOW, 2, "ann", named_mate("", "run7"))}, ())
    await again.idle()
    assert again.site.domain.jobs["1"].named == named_mate(peer, "run7")


@pytest.mark.parametrize(
    ("coupled", "given", "comment"),
    [
        (Coupled(["b"]), named_mate("b", "run7"), "cosched:pair=run7"),
        (Coupled(BOTH), named_mate("b", "run7").with_mate("5"), "cosched:group=run7@b"),
        (Coupled(["b"]), named_mate("b", mate="5", or_alone=True), "cosched:mate=b/5 cosched:or-alone"),
        (Coupled(BOTH), named_group("g", ("b", "c"), ids=(("c", "7"),)), "cosched:group=g@b+c"),
    ],
)
async def test_a_job_is_known_by_the_mate_that_was_written_into_it(store, coupled, given, comment):
    made, relink = Offered(store, coupled), AsyncMock()
    await BatchQueue(made.site.domain, SimpleNamespace(relink=relink), coupled).relink("1", given)
    written = relink.await_args.args[1]
    assert (word(written), find(comment)) == (comment, written)
    await made.appears(written)
    known = made.site.domain.jobs["1"].named
    assert (known.others, known.name, known.mate) == (given.others, given.name, written.mate)


def named(coupled: Coupled, mate: Named) -> Named:
    return NamedMates(SimpleNamespace(name="a"), None, coupled).mate(mate)


def test_a_submission_to_the_domain_itself_takes_the_default_too() -> None:
    assert named(Coupled(BOTH, "c"), named_mate("", "run7")) == named_mate("c", "run7")
    assert named(Coupled(BOTH, "c"), named_mate("b", "run7")) == named_mate("b", "run7")


def test_a_submission_is_refused_without_it_and_the_option_and_the_domains_are_said() -> None:
    with pytest.raises(Refusal, match=r"the mate's domain must be named, by --pair-domain \(configured: b, c\)"):
        named(Coupled(BOTH), named_mate("", "run7"))


def test_a_link_keeps_the_domain_of_the_mate_before_if_that_is_known() -> None:
    names = NamedMates(None, None, Coupled(BOTH))
    other = named_mate("", "other")
    assert names.as_before(other, named_mate("c", "run7")) == named_mate("c", "other")
    assert names.as_before(other, named_mate("b|c", "run7")) == other
