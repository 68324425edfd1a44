"""Certificates and keys in PEM files, and the names of a certificate's holder."""

from __future__ import annotations

import base64
import hashlib
import re
from contextlib import suppress
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes, PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from cosched.words.errors import InputError
from cosched.words.file_errors import reason_of

RESERVED_ZONE = ".cosched.internal"  # the end of all names that `server_name` makes
_LIST = re.compile(rb"-----BEGIN X509 CRL-----.*?-----END X509 CRL-----", re.DOTALL)


def server_name(identity: str) -> str:
    """Return the DNS name for a server with this URI: its certificate must contain it, and its clients check it."""
    digest = hashlib.sha256(identity.encode()).digest()
    return base64.b32encode(digest).decode().rstrip("=").lower() + RESERVED_ZONE


def identities(certificate: x509.Certificate) -> list[str]:
    """Return the URIs among a certificate's alternative names."""
    return _names(certificate).get_values_for_type(x509.UniformResourceIdentifier)


def dns_names(certificate: x509.Certificate) -> list[str]:
    """Return the DNS names among a certificate's alternative names."""
    return _names(certificate).get_values_for_type(x509.DNSName)


def _names(certificate: x509.Certificate) -> x509.SubjectAlternativeName:
    try:
        return certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):  # the extension is absent or unreadable
        return x509.SubjectAlternativeName([])


def read(path: str | Path) -> bytes:
    """Read a file; InputError if that fails."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(str(path), None, reason_of(error, path)) from None


def parse_certificates(path: str | Path, pem: bytes) -> list[x509.Certificate]:
    """Parse the certificates in `pem`, the contents of the file `path`; InputError if there is none."""
    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError:
        raise InputError(str(path), None, "is not a certificate in PEM") from None


def parse_lists(path: str | Path, pem: bytes) -> list[x509.CertificateRevocationList]:
    """Parse the lists in `pem`, the contents of the file `path`; InputError if there is none."""
    with suppress(ValueError):
        if lists := [x509.load_pem_x509_crl(each) for each in _LIST.findall(pem)]:
            return lists
    raise InputError(str(path), None, "is not a certificate revocation list in PEM")


def parse_key(path: str | Path, pem: bytes, certificate: x509.Certificate) -> PrivateKeyTypes:
    """Parse the private key in `pem`, the contents of `path`; InputError if it does not belong to the certificate."""
    try:
        key = load_pem_private_key(pem, password=None)
    except TypeError:
        raise InputError(str(path), None, "is encrypted; it must be a key without a passphrase") from None
    except (ValueError, UnsupportedAlgorithm):
        raise InputError(str(path), None, "is not a private key in PEM") from None
    if key.public_key() != _public_key(path, certificate):
        raise InputError(str(path), None, "is not the key that belongs to the certificate")
    return key


def _public_key(path: str | Path, certificate: x509.Certificate) -> CertificatePublicKeyTypes:
    try:
        return certificate.public_key()
    except (ValueError, UnsupportedAlgorithm):
        raise InputError(str(path), None, "belongs to a certificate with a key of an unknown kind") from None


def expires(path: str | Path) -> float:
    """Return when the first of a file's certificates expires, in seconds since 1970; InputError."""
    return min(end.not_valid_after_utc.timestamp() for end in parse_certificates(path, read(path)))
