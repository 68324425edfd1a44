"""Records of jobs, as submissions make them, and as they are later."""

from dataclasses import fields
from typing import Any

from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.coscheduling.membership import Membership
from cosched.core.protocol import Named
from cosched.service.store import JobRecord

OF_CORE = {field.name for field in fields(PairedJob)} - {"id", "owner", "ended_at"}


def queued(
    id: int, nodes: int, limit: int, at: int, *, owner: str = "u", named: Named | None = None, domain: str = "a",
    name: str = "j", **known: Any,
) -> JobRecord:  # fmt: skip
    """A job that was submitted at `at`, with a limit of so many seconds; and what is known of it since."""
    job = PairedJob(str(id), owner, Membership.named(domain, named))
    record = JobRecord(id, name, owner, None, nodes, limit, at, job)
    for field, value in known.items():
        setattr(job if field in OF_CORE else record, field, value)
    return record
