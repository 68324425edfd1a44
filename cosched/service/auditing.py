"""Changes that were asked for and refused, on record beside those that were made."""

from __future__ import annotations

import logging

from cosched.service.domain import LiveDomain
from cosched.service.store import AuditRecord, StoreError

_LOG = logging.getLogger(__name__)


def audit_refused(domain: LiveDomain, record: AuditRecord) -> None:
    """Keep the record of a refused change, if anything can be written now; what was done is written with its turn."""
    if domain.problem:
        return
    try:
        with domain.store.transaction():
            domain.store.add_audit(record)
    except StoreError as error:
        _LOG.error("the audit cannot be written: %s", error)
