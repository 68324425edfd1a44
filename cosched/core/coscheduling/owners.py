"""Who a user of a peer is here (coscheduling.md, Mates)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cosched.core.protocol import Domain

NOBODY = "\0"  # the owner of no job, since no name of a user has this character


@dataclass(frozen=True, slots=True)
class Owners:
    """What users of peers are called here: as `mapped`, by (peer, name there), else by the same name.

    Nobody here are all others of the peers that are `closed`, and those of a `reserved` name, such as root.
    """

    mapped: Mapping[tuple[Domain, str], str] = field(default_factory=dict)
    closed: frozenset[Domain] = frozenset()
    reserved: frozenset[str] = frozenset()

    def here(self, peer: Domain, owner: str) -> str:
        """Return what this user of the peer is called here; NOBODY: no user here is this one."""
        if (known := self.mapped.get((peer, owner))) is not None:
            return known
        return NOBODY if peer in self.closed or owner in self.reserved else owner


SAME_NAMES = Owners()
