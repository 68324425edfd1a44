"""Audit records of refused changes, beside those of changes that were made.

Any caller can be refused any number of times. So equal refusals (of one caller, call and reason) make one record a
minute: it is written at the first refusal, and gets their number when the minute is over.
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
    """The refused changes of one domain."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._since: dict[_Alike, AuditRecord] = {}  # refusals of the last minute, with their numbers

    def add(self, record: AuditRecord, reason: str) -> None:
        """Store the record of a refused change, if the database can be written now."""
        alike = record.who, record.via, record.method, reason
        known = self._since.get(alike)
        if known is not None and known.at <= record.at < known.at + MINUTE:
            self._since[alike] = replace(known, times=known.times + 1)
            return
        self._end(alike)
        if self._written(lambda: self._store.add_audit(record)):
            self._since[alike] = record

    def tidy(self, now: int) -> None:
        """Store the numbers of refusals whose minute is over."""
        for alike in [alike for alike, record in self._since.items() if not record.at <= now < record.at + MINUTE]:
            self._end(alike)

    def close(self) -> None:
        """Store the numbers of all refusals so far."""
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
