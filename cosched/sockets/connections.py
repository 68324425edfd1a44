"""Limits on the number of connections: of each origin, and in all.

Anybody can connect, and at best the first call shows who it is. So a connection on which no known caller has called may
be ended: when there are too many connections, from one origin or in all, the oldest of these ends. So silent
connections cannot shut others out. Each user may keep a limited number of connections, and all users together leave
room for other domains and operators.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TypeVar

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Room:
    """The limits of one listener."""

    most: int
    of_origin: int  # connections of one address, or of one user of this host
    of_user: int  # kept connections of one caller

    @property
    def of_users(self) -> int:
        """Kept connections of all users together."""
        return self.most * 3 // 4


@dataclass(eq=False, slots=True)
class Connection:
    """One connection, established or about to be."""

    origin: str
    end: Callable[[], None]
    trusted: bool = False  # of a hook, or an operator: it stays, and no limit but that of all holds for it
    keeper: Hashable = None  # the caller for whom it is kept
    of_user: bool = False  # whether the keeper is a user


class Connections:
    """The connections of one listener."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._standing: dict[Connection, None] = {}  # the oldest first
        self._of_origin: Counter[str] = Counter()
        self._of_keeper: Counter[Hashable] = Counter()
        self._of_users = 0

    def __len__(self) -> int:
        return len(self._standing)

    def admit(self, connection: Connection) -> bool:
        """Return whether to admit it. This may end a connection that no known caller has used."""
        room, origin = self._room, connection.origin
        if not connection.trusted and self._of_origin[origin] >= room.of_origin and not self._end_one(origin):
            return False
        if len(self._standing) >= room.most and not self._end_one(None):
            return False
        self._standing[connection] = None
        self._of_origin[origin] += 1
        return True

    def stands(self, connection: Connection) -> bool:
        """Return whether it was admitted and has not ended."""
        return connection in self._standing

    def keep(self, connection: Connection, keeper: Hashable, is_user: bool) -> bool:
        """Keep it from being ended for others, since this caller uses it; return whether the limits allow this."""
        if connection.keeper is not None or connection not in self._standing:
            return connection.keeper is not None
        full = self._of_keeper[keeper] >= self._room.of_user or (is_user and self._of_users >= self._room.of_users)
        if full and not connection.trusted:
            return False
        connection.keeper, connection.of_user = keeper, is_user
        self._of_keeper[keeper] += 1
        self._of_users += is_user
        return True

    def ended(self, connection: Connection) -> bool:
        """Note that it has ended; return whether it was admitted."""
        if connection not in self._standing:
            return False
        del self._standing[connection]
        _count_down(self._of_origin, connection.origin)
        if connection.keeper is not None:
            _count_down(self._of_keeper, connection.keeper)
            self._of_users -= connection.of_user
        return True

    def _end_one(self, origin: str | None) -> bool:
        """End the oldest connection that may be ended, of this origin (None: of any); return whether there was one."""
        for connection in self._standing:
            if not connection.trusted and connection.keeper is None and origin in (None, connection.origin):
                self.ended(connection)
                connection.end()
                return True
        return False


def _count_down(counter: Counter[Key], key: Key) -> None:
    counter[key] -= 1
    if not counter[key]:
        del counter[key]
