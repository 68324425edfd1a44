"""How long slots have kept nodes that were free for their jobs, and who has to make that up (meet.md, Abuse).

A slot keeps nodes while its job could start on them, and does not: because the mate cannot, or its domain will not.
What that costs is made up for by time: jobs of that owner with that peer get new slots only when all but `ALLOWANCE` of
it has passed. So they keep at most their share of the machine's node-time, and a peer's jobs of all owners at most
`OF_PEER` times as much. A slot that ends without a start counts `IN_VAIN` times.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from cosched.core.protocol import Domain
from cosched.core.settings import NO_SLOT_BOUND

ALLOWANCE = 6 * 3600  # seconds that need not have been made up for
OF_PEER = 2
IN_VAIN = 10

Owner = str


@dataclass(slots=True)
class SlotUse:
    """What is to be made up for, of a machine of `nodes` nodes. `share`: of its node-time, for an owner with a peer.

    `until`: when that is done, by peer, and by peer and owner. `changed`: whether that differs from what was kept.
    """

    nodes: int
    until: dict[str, int] = field(default_factory=dict)
    changed: bool = False

    def count(self, peers: Iterable[Domain], owner: Owner, node_seconds: int, share: Fraction, now: int) -> None:
        """A slot of the owner's job with these peers has kept nodes for so many node-seconds."""
        if share >= NO_SLOT_BOUND or not node_seconds:
            return
        for key, times in _keys(peers, owner):
            part = share * times * self.nodes
            lasts = int(node_seconds / part) if part else ALLOWANCE + 1
            self.until[key] = max(self.until.get(key, now), now) + lasts
        self.changed = True

    def may_have_slot(self, peers: Iterable[Domain], owner: Owner, share: Fraction, now: int) -> bool:
        """Return whether the owner's job may have a slot with these peers."""
        bounded = share < NO_SLOT_BOUND
        return not bounded or self.next_slot(peers, owner, now) <= now

    def next_slot(self, peers: Iterable[Domain], owner: Owner, now: int) -> int:
        """Return from when on that job may have one."""
        return max((self.until.get(key, now) - ALLOWANCE for key, _ in _keys(peers, owner)), default=now)


def _keys(peers: Iterable[Domain], owner: Owner) -> Iterator[tuple[str, int]]:
    """Who makes that up, the peer and the owner with it; and how many times an owner's share each may keep."""
    for peer in peers:
        yield peer, OF_PEER
        yield f"{peer}/{owner}", 1
