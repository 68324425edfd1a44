"""Checks of received messages, with the protocol's limits. An error names the bad field; no value is guessed."""

from __future__ import annotations

import re
from typing import ClassVar

from google.protobuf.timestamp_pb2 import Timestamp

from cosched.core.protocol import Domain, JobId
from cosched.v1.coscheduling_pb2 import JobRef

MAX_JOB_ID = 128
PROBE = "0"  # never a job's id: `cosched doctor` asks for it, to see whether a peer answers
MAX_PAIR = 128
MAX_REQUEST_ID = 256
MAX_OWNER = 256
MAX_GENERATION = 1 << 62
MAX_TIME = 253402300799  # 9999-12-31T23:59:59Z, the last second of a Timestamp
_MAX_NANOS = 999_999_999
_DOMAIN = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class FieldError(ValueError):
    """A `field` of a message cannot be used; it becomes INVALID_ARGUMENT with this `reason`.

    The text never repeats the value, which may be long or hostile.
    """

    reason: ClassVar[str] = "INVALID_FIELD"

    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        self.problem = problem
        super().__init__(f"{field}: {problem}")


class WrongDomainError(FieldError):
    """The field names the wrong domain: the call is misrouted, or a name is misconfigured."""

    reason = "WRONG_DOMAIN"


def check_text(field: str, value: str, most: int, least: int = 1) -> str:
    """Return the text if it has `least` to `most` characters, all printable."""
    if not least <= len(value) <= most:
        raise FieldError(field, f"must have {least} to {most} characters, has {len(value)}")
    if not value.isprintable():
        raise FieldError(field, "has a character that is not printable")
    return value


def check_domain(field: str, value: str) -> Domain:
    """Return the text if it is a domain's name."""
    if not _DOMAIN.fullmatch(value):
        raise FieldError(field, "is not a domain name (1 to 64 of A-Z a-z 0-9 _ . -)")
    return value


def check_job(field: str, ref: JobRef) -> tuple[Domain, JobId]:
    """Return the domain and the id of a job of any domain."""
    if not ref.domain and not ref.job_id:
        raise FieldError(field, "is missing")
    domain = check_domain(f"{field}.domain", ref.domain)
    return domain, check_text(f"{field}.job_id", ref.job_id, MAX_JOB_ID)


def check_job_of(field: str, ref: JobRef, domain: Domain) -> JobId:
    """Return the id of a job, which must belong to `domain`."""
    if ref.domain != domain:
        check_job(field, ref)
        raise WrongDomainError(f"{field}.domain", f"is not {domain}")
    return check_text(f"{field}.job_id", ref.job_id, MAX_JOB_ID)


def number(text: str) -> int | None:
    """Return the number of a job or a page; None if the text is not a number, or too large for a database."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


def check_generation(field: str, value: int) -> int:
    """Return the generation of a hold or a slot if it is in range."""
    if not 1 <= value <= MAX_GENERATION:
        raise FieldError(field, f"is not between 1 and {MAX_GENERATION}")
    return value


def check_time(field: str, stamp: Timestamp, earliest: int = 0) -> int:
    """Return whole seconds since 1970; a fraction is cut off."""
    if not earliest <= stamp.seconds <= MAX_TIME or not 0 <= stamp.nanos <= _MAX_NANOS:
        raise FieldError(field, f"is not a time between {earliest} and {MAX_TIME} seconds after 1970")
    return int(stamp.seconds)


def check_instant(field: str, stamp: Timestamp) -> float:
    """Return seconds since 1970 with their fraction."""
    return check_time(field, stamp) + float(stamp.nanos) / 1e9
