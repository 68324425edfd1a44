"""Lists of revoked certificates (CRLs, RFC 5280): reads them, and tells whose certificates they revoke.

gRPC for Python checks no lists, so calls are checked here, each by the certificate of its connection. A list whose time
is over keeps what it revokes, but it cannot tell what was revoked since.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509

from cosched.certificates.pem import parse_lists, read
from cosched.words.errors import InputError


@dataclass(frozen=True, slots=True)
class Revocations:
    """What the lists of a file revoke: issuers with serial numbers; `until`: when the first list's time is over."""

    path: Path
    revoked: frozenset[tuple[bytes, int]]
    until: datetime | None = None

    def names(self, certificate: x509.Certificate) -> bool:
        """Return whether the lists name this certificate."""
        return (certificate.issuer.public_bytes(), certificate.serial_number) in self.revoked

    def problem(self) -> str | None:
        """Return why the lists do not tell all that is revoked now, if they do not."""
        if self.until is not None and self.until < datetime.now(UTC):
            return f"has expired on {self.until:%Y-%m-%d %H:%M} UTC: get a new list from the authority"
        return None


def read_revocations(path: Path, authorities: Sequence[x509.Certificate]) -> Revocations:
    """Read the lists in a PEM file, each of one of these authorities; InputError."""
    lists = parse_lists(path, read(path))
    for each in lists:
        if not any(_is_of(each, authority) for authority in authorities):
            of = each.issuer.rfc4514_string()
            raise InputError(str(path), None, f"is of {of}, whose certificate is not in tls.ca, or not signed by it")
        if any(extension.oid == x509.DeltaCRLIndicator.oid for extension in each.extensions):
            raise InputError(str(path), None, "has only what changed since another list: name a complete one")
    revoked = frozenset((each.issuer.public_bytes(), entry.serial_number) for each in lists for entry in each)
    return Revocations(path, revoked, min((end for each in lists if (end := each.next_update_utc)), default=None))


def _is_of(found: x509.CertificateRevocationList, authority: x509.Certificate) -> bool:
    try:
        key = authority.public_key()
        return found.issuer == authority.subject and found.is_signature_valid(key)  # type: ignore[arg-type]
    except (TypeError, ValueError):  # a key that signs no lists
        return False
