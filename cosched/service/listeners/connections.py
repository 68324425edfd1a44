"""How many connections may stand: of each origin, and in all.

Anybody can connect, from anywhere; who it is, is known at his first call, if at all. So a connection on which nobody
known has called yet may be ended: when one too many comes, from the same origin or in all, the oldest of them goes:
nobody shuts out others by connections that say nothing. Users may keep a limited number of connections each, and
together no more than leaves room for other domains and operators.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from cosched.service.wire.callers import Caller

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Room:
    """For how many connections there is room at one listener."""

    most: int
    of_origin: int  # of an address, of a user of this host
    of_user: int  # that are not ended for others, of one caller

    @property
    def of_users(self) -> int:
        """That are not ended for others, of all users."""
        return self.most * 3 // 4


@dataclass(eq=False, slots=True)
class Connection:
    """One that stands, or is about to."""

    origin: str
    end: Callable[[], None]
    stays: bool = False  # it is not ended for others, whoever uses it
    keeper: tuple[str, str | None] | None = None  # the caller for whom it is not
    of_user: bool = False  # the keeper


class Connections:
    """Those of one listener."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._standing: dict[Connection, None] = {}  # the oldest first
        self._of_origin: Counter[str] = Counter()
        self._of_keeper: Counter[tuple[str, str | None]] = Counter()
        self._of_users = 0

    def __len__(self) -> int:
        return len(self._standing)

    def admit(self, connection: Connection) -> bool:
        """Whether it may stand; one that nobody known has used may have to go for it."""
        room, origin = self._room, connection.origin
        if self._of_origin[origin] >= room.of_origin and not self._end_one(origin):
            return False
        if len(self._standing) >= room.most and not self._end_one(None):
            return False
        self._standing[connection] = None
        self._of_origin[origin] += 1
        return True

    def stands(self, connection: Connection) -> bool:
        """Whether it was admitted, and has not ended."""
        return connection in self._standing

    def keep(self, connection: Connection, caller: Caller) -> bool:
        """Whether it is not ended for others from now on, since this caller uses it."""
        if connection.keeper is not None or connection not in self._standing:
            return connection.keeper is not None
        keeper, is_user = (caller.via, caller.peer), caller.peer is None and not caller.operator
        if self._of_keeper[keeper] >= self._room.of_user or (is_user and self._of_users >= self._room.of_users):
            return False
        connection.keeper, connection.of_user = keeper, is_user
        self._of_keeper[keeper] += 1
        self._of_users += is_user
        return True

    def ended(self, connection: Connection) -> bool:
        """It stands no more; whether it did."""
        if connection not in self._standing:
            return False
        del self._standing[connection]
        _count_down(self._of_origin, connection.origin)
        if connection.keeper is not None:
            _count_down(self._of_keeper, connection.keeper)
            self._of_users -= connection.of_user
        return True

    def _end_one(self, origin: str | None) -> bool:
        """End the oldest that may be ended, of this origin or of any; whether there was one."""
        for connection in self._standing:
            if not connection.stays and connection.keeper is None and origin in (None, connection.origin):
                self.ended(connection)
                connection.end()
                return True
        return False


def _count_down(counter: Counter[Key], key: Key) -> None:
    counter[key] -= 1
    if not counter[key]:
        del counter[key]
