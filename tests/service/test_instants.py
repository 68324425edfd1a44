"""The messages between domains declare which of their fields are instants."""

from typing import get_args

from cosched.core.protocol import Reply, Request
from cosched.service.peers.instants import INSTANTS

NAMES = {"hold_until", "start_at", "started_at", "ended_at", "not_before", "only_before", "instant", "earliest", "at"}
GIVEN = ("GetMember", "at")  # an instant that users give, in seconds since 1970 wherever it is read


def test_every_instant_is_declared():
    fields = {(message.__name__, field) for message in get_args(Request | Reply) for field in message._fields}
    declared = {(message.__name__, field) for message, kinds in INSTANTS.items() for field in kinds}
    assert declared == {(message, field) for message, field in fields if field in NAMES} - {GIVEN}
