"""The database of a policy domain: its jobs, their history, and its answers. SQLite, one file, one writer."""

from cosched.service.store.errors import StoreError
from cosched.service.store.reading import Reader
from cosched.service.store.records import AuditRecord, EventRecord, JobRecord, JobScript, Sample
from cosched.service.store.schema import UNTOLD
from cosched.service.store.store import Store

__all__ = ["UNTOLD", "AuditRecord", "EventRecord", "JobRecord", "JobScript", "Reader", "Sample", "Store", "StoreError"]
