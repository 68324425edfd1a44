"""Drives domain A, which gives slots, by hand: it proposes slots, or B does."""

from cosched.core.effects import Book, Call
from cosched.core.events import Booked, Claimed, Quoted, SlotDue
from cosched.core.protocol import FOREVER, MateTried, Proposed, ProposeStart, Settled, SettleStart, StartJob, Status
from tests.core.had import had

from .driver import NO, DomainA, of

SLOT, PATIENCE = 500, 30


class Meeting(DomainA):
    """Domain A, which gives slots. B is asked, or asks; B books or A does."""

    def __init__(self, **settings: object) -> None:
        super().__init__(slots=True, **settings)

    # A proposes

    def refused(self, mate_ready: bool = True):
        """RunJob(j) up to the refused TryStartMate."""
        self.run_job(Status.QUEUING)
        return self.reply(MateTried(NO, mate_ready=mate_ready))

    def quoted(self, at: int | None, for_peer: bool = False):
        return self.feed(Quoted("j", at, for_peer))

    def booked(self, at: int = SLOT, generation: int = 1, booked: bool = True, for_peer: bool = False):
        return self.feed(Booked("j", at, generation, had(booked), for_peer))

    def proposes(self, at: int = SLOT):
        self.refused()
        return self.quoted(at)

    def agrees(self, at: int = SLOT, generation: int = 1):
        """A has proposed the slot, and both domains have booked it."""
        self.proposes(at)
        self.reply(Proposed(at, True, generation))
        return self.booked(at, generation)

    def has_slot(self, at: int = SLOT, generation: int = 1):
        """A has proposed the slot, and B knows that it is kept."""
        self.agrees(at, generation)
        self.reply(Settled(True))
        return self

    def due(self):
        self.now = max(self.now, self.job().slot)
        return self.feed(SlotDue("j"))

    def claimed(self, claimed: bool = True, for_peer: bool = False):
        return self.feed(Claimed("j", had(claimed), for_peer))

    # B proposes

    def queues(self):
        """Job j queues, and was asked for by its mate."""
        self.submit()
        self.asked_id()
        return self

    def asked_for_slot(self, at: int = SLOT, number: int = 2, generation: int = 0, before: int = FOREVER):
        return self.ask(ProposeStart(f"B/k/{number}", "j", "k", at, generation, before))

    def gives_slot(self, at: int = SLOT, number: int = 2, generation: int = 0, before: int = FOREVER):
        """B's proposal is booked."""
        self.asked_for_slot(at, number, generation, before)
        (book,) = of(self.quoted(at, for_peer=True), Book)
        return self.booked(at, book.generation, for_peer=True)

    def told_to(self, *, keep: bool, generation: int = 1, number: int = 3):
        return self.ask(SettleStart(f"B/k/{number}", "j", "k", generation, keep))

    def asked_start_at_slot(self, generation: int = 1, number: int = 4):
        return self.ask(StartJob(f"B/k/{number}", "j", "k", 0, None, generation))


def dropped(effects: list) -> list[int]:
    """The generations of slots that the other domain is told to drop."""
    requests = [call.request for call in of(effects, Call)]
    return [request.slot_generation for request in requests if type(request) is SettleStart and not request.keep]
