"""Changes that were asked for and refused, on record beside those that were made.

Whoever can call can be refused, as often as he likes. So refusals that are alike (of one caller, call and reason) make
one record a minute: it is written with the first, and says how many they were once the minute is over.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from cosched.service.store import AuditRecord, Store, StoreError

MINUTE = 60  # seconds
_LOG = logging.getLogger(__name__)
_Alike = tuple[str, str, str, str]  # who, via, method, reason


class RefusedChanges:
    """Those of one domain."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._since: dict[_Alike, AuditRecord] = {}  # of the last minute, with how many they were

    def add(self, record: AuditRecord, reason: str) -> None:
        """Keep the record of a refused change, if anything can be written now; what was done goes with its turn."""
        alike = record.who, record.via, record.method, reason
        known = self._since.get(alike)
        if known is not None and known.at <= record.at < known.at + MINUTE:
            self._since[alike] = replace(known, times=known.times + 1)
            return
        self._end(alike)
        if self._written(lambda: self._store.add_audit(record)):
            self._since[alike] = record

    def tidy(self, now: int) -> None:
        """Keep how many they were of which the minute is over."""
        for alike in [alike for alike, record in self._since.items() if not record.at <= now < record.at + MINUTE]:
            self._end(alike)

    def close(self) -> None:
        """Keep how many they were so far."""
        for alike in list(self._since):
            self._end(alike)

    def _end(self, alike: _Alike) -> None:
        record = self._since.pop(alike, None)
        if record is not None and record.times > 1:
            self._written(lambda: self._store.count_audit(record))

    def _written(self, write: Callable[[], None]) -> bool:
        try:
            with self._store.transaction():
                write()
        except StoreError as error:
            _LOG.error("the audit cannot be written: %s", error)
            return False
        return True
