"""A domain beside a batch system whose pairs meet, as the preset "meet" has it, and what is done to its slots."""

from decimal import Decimal
from typing import Any

import pytest

from cosched.core.effects import Book, Quote
from cosched.core.events import SlotDue
from cosched.core.protocol import GroupProposed, MateTried, ProposeGroupStart, Settled, SettleGroupStart, Vote
from cosched.core.scheduling.external_meeting import ExternalSettings
from cosched.core.settings import Scheme
from cosched.service.domain.offered_slots import OfferedSlots
from cosched.service.store import Store
from tests.service.offered_site import NOW, Site

SLOT = NOW + 100
BOOKED = GroupProposed(Vote.BOOKED, earliest=SLOT)


def site_of(store: Store, share: str = "1") -> Site:
    """Domain a, as the preset "meet" has it."""
    meets = ExternalSettings(10, slots=True, mate_budget=Decimal("0.5"), mate_budget_share=Decimal(share))
    return Site(store, meets, scheme=Scheme.YIELD, slots=True)


@pytest.fixture
def site(store: Store) -> Site:
    return site_of(store)


def slots_of(site: Site) -> OfferedSlots:
    return OfferedSlots(site.domain, site.scheduler)


def has_slot(site: Site, job: int) -> OfferedSlots:
    """The job has proposed SLOT, and both domains keep it."""
    slots = slots_of(site)
    site.submit(job)
    site.ready(job)
    site.answer(job, MateTried(False, None, True))
    slots.quoted(last(site, Quote), SLOT)
    site.answer(job, BOOKED)
    slots.booked(last(site, Book), True)
    site.answer(job, Settled(True))
    return slots


def last(site: Site, kind: type) -> Any:
    return next(order for order in reversed(site.outside.orders) if type(order) is kind)


def due(site: Site, job: int) -> None:
    site.clock.instant = SLOT
    site.domain.timer_due(SlotDue(str(job)))


def propose(site: Site, job: int, not_before: int | None, slot: str = "") -> object:
    """A slot, which is to be booked; or a start at that slot."""
    id, book = f"b/{job}/{not_before or 9999}", not_before is not None
    asked = ProposeGroupStart(id, str(job), str(job), 0, 60, not_before=not_before, book=book, slot=slot)
    return site.ask(asked)


def settle(site: Site, name: str, *, keep: bool = False, start: bool = False) -> None:
    site.ask(SettleGroupStart(name, "1", "1", start=start, keep=keep))


def slot_of(site: Site) -> str:
    """The name of the slot of job 1."""
    return str(site.domain.core.jobs["1"].group.slot)
