"""What jobs have cost beyond their runs, in node-seconds."""

from __future__ import annotations

from cosched.client.explanations import Cost
from cosched.client.fields import if_given, part, plain, words
from cosched.client.view import View
from cosched.v1 import usage_pb2

USAGE_BY = words(usage_pb2.UsageBy, "USAGE_BY_")


class Usage(View[usage_pb2.Usage]):
    """A sum, of a user, an account, or a pair or group."""

    name = plain(str, "Whose it is; empty: of no account.")
    jobs = plain(int, "How many jobs.")
    cost = part(Cost, "What they have cost.")

    @property
    def held_in_a_day(self) -> int | None:
        """Of an account with a budget: node-seconds that its jobs have held in the last day."""
        return self._message.held_in_a_day if self.may_hold_in_a_day is not None else None

    may_hold_in_a_day = if_given(int, "The node-seconds that they may hold in a day; None: it has no budget.")
