"""A small certificate authority, and the certificates it issues to a site's policy domains and users.

A URI in the certificate names its holder: `spiffe://SITE/cosched/NAME` is a domain, `spiffe://SITE/cosched/user/NAME`
a user. A domain's certificate also contains the DNS name that `server_name` makes of the URI
(cosched/service/wire/tls.py says why), and the hosts under which users reach it. Keys are on the curve P-256.
"""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from cosched.certificates.pem import (
    RESERVED_ZONE,
    identities,
    parse_certificates,
    parse_key,
    parse_lists,
    read,
    server_name,
)
from cosched.words.errors import InputError

CA_CERTIFICATE, CA_KEY, CA_LIST = "ca.pem", "ca.key", "ca.crl"
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
_BACKDATED = timedelta(minutes=5)  # the clocks of other hosts may be behind
_PUBLIC, _SECRET = 0o644, 0o600
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_SITE = re.compile(r"[a-z0-9_.-]{1,64}")
_LABEL = "[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST = re.compile(rf"(?=.{{1,253}}\Z)({_LABEL}\.)*(?![0-9]+\Z){_LABEL}")


@dataclass(frozen=True, slots=True)
class Issued:
    """The files of a new certificate and its key; `until`: its end in seconds since 1970; `identity`: its URI."""

    certificate: Path
    key: Path
    identity: str
    until: float


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate authority; `site` is the trust domain of the URIs in its certificates."""

    certificate: x509.Certificate
    key: EllipticCurvePrivateKey
    site: str

    def identity(self, name: str, user: bool) -> str:
        """Return the URI of a domain or a user."""
        return f"spiffe://{self.site}/cosched/{'user/' if user else ''}{name}"


def init_authority(folder: Path, site: str = "site", days: int = 3650) -> Issued:
    """Make a certificate authority in a folder, which need not exist; InputError, OSError. Overwrite nothing."""
    if not _SITE.fullmatch(site):
        raise InputError("--site", None, "must be 1 to 64 of a-z 0-9 _ . -")
    pem, key_file = folder / CA_CERTIFICATE, folder / CA_KEY
    _refuse_existing([pem, key_file], "a certificate authority is never overwritten")
    key = generate_private_key(SECP256R1())
    subject = _name((NameOID.ORGANIZATION_NAME, site), (NameOID.COMMON_NAME, "cosched certificate authority"))
    identity = f"spiffe://{site}"
    certificate = (
        _builder(subject, subject, key, _end(days), authority=True)
        .add_extension(x509.SubjectAlternativeName([x509.UniformResourceIdentifier(identity)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    folder.mkdir(parents=True, exist_ok=True)
    return _write(pem, key_file, certificate, key, identity)


def open_authority(folder: Path) -> Authority:
    """Load the certificate authority of a folder; InputError if it cannot sign."""
    pem, key_file = folder / CA_CERTIFICATE, folder / CA_KEY
    if not pem.exists():
        raise InputError(str(pem), None, "is missing; make the certificate authority first, by `cosched certs init`")
    certificate = parse_certificates(pem, read(pem))[0]
    sites = [uri.removeprefix("spiffe://") for uri in identities(certificate)]
    if len(sites) != 1 or not _SITE.fullmatch(sites[0]) or not _is_authority(certificate):
        raise InputError(str(pem), None, "is not a certificate authority made by `cosched certs init`")
    if certificate.not_valid_after_utc <= datetime.now(UTC):
        raise InputError(str(pem), None, f"has expired on {certificate.not_valid_after_utc:%Y-%m-%d}")
    key = parse_key(key_file, read(key_file), certificate)
    if not isinstance(key, EllipticCurvePrivateKey):
        raise InputError(str(key_file), None, "is not a key on an elliptic curve")
    return Authority(certificate, key, sites[0])


def _is_authority(certificate: x509.Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False


def issue(
    authority: Authority,
    name: str,
    folder: Path,
    *,
    user: bool = False,
    hosts: Sequence[str] = LOCAL_HOSTS,
    days: int = 365,
    force: bool = False,
) -> Issued:
    """Write NAME.pem and NAME.key for a domain or a user; InputError, OSError.

    A domain's certificate also names `hosts`. It is valid for `days` days, but not longer than the authority's own.
    Existing files are replaced only with `force`.
    """
    _check_name(name)
    pem, key_file = folder / f"{name}.pem", folder / f"{name}.key"
    if not force:
        _refuse_existing([pem, key_file], "--force replaces it")
    key = generate_private_key(SECP256R1())
    identity = authority.identity(name, user)
    names: list[x509.GeneralName] = [x509.UniformResourceIdentifier(identity)]
    if not user:
        names += [x509.DNSName(server_name(identity)), *map(_host, hosts)]
    end = min(_end(days), authority.certificate.not_valid_after_utc)
    unit = (NameOID.ORGANIZATIONAL_UNIT_NAME, "users" if user else "domains")
    subject = _name((NameOID.ORGANIZATION_NAME, authority.site), unit, (NameOID.COMMON_NAME, name))
    certificate = (
        _builder(authority.certificate.subject, subject, key, end, authority=False)
        .add_extension(_purposes(user), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(authority.key, hashes.SHA256())
    )
    folder.mkdir(parents=True, exist_ok=True)
    return _write(pem, key_file, certificate, key, identity)


def revoke(authority: Authority, folder: Path, certificates: Sequence[Path], days: int) -> tuple[Path, int, float]:
    """Add certificates to the list of revoked ones in a folder, which is made if need be; InputError, OSError.

    The list is signed anew, for `days` days, also without a certificate to add. Return its path, how many it has, and
    when a newer one is due, in seconds since 1970.
    """
    path = folder / CA_LIST
    before = parse_lists(path, read(path)) if path.exists() else []
    entries = {entry.serial_number: entry for listed in before for entry in listed}
    now = datetime.now(UTC)
    for each in certificates:
        leaf = parse_certificates(each, read(each))[0]
        _check_issued(each, leaf, authority)
        entry = x509.RevokedCertificateBuilder().serial_number(leaf.serial_number).revocation_date(now).build()
        entries.setdefault(leaf.serial_number, entry)
    end = _end(days)
    number = int(now.timestamp() * 1000)  # it grows, even if the old list is lost
    builder = (
        x509.CertificateRevocationListBuilder(revoked_certificates=list(entries.values()))
        .issuer_name(authority.certificate.subject)
        .last_update(now - _BACKDATED)
        .next_update(end)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()), critical=False)
        .add_extension(x509.CRLNumber(number), critical=False)
    )
    _write_together([(path, builder.sign(authority.key, hashes.SHA256()).public_bytes(Encoding.PEM), _PUBLIC)])
    return path, len(entries), end.timestamp()


def _check_issued(path: Path, leaf: x509.Certificate, authority: Authority) -> None:
    try:
        leaf.verify_directly_issued_by(authority.certificate)
    except (ValueError, TypeError, InvalidSignature):
        raise InputError(str(path), None, "is not of this certificate authority, which cannot revoke it") from None
    if _is_authority(leaf):
        raise InputError(str(path), None, "is the authority's own: make a new one by `cosched certs init`")


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or name in (".", ".."):
        raise InputError("NAME", None, "must be 1 to 64 of A-Z a-z 0-9 _ . -")
    if name == "ca":
        raise InputError("NAME", None, "must not be ca, whose files are those of the certificate authority")


def _host(host: str) -> x509.GeneralName:
    with suppress(ValueError):
        return x509.IPAddress(ipaddress.ip_address(host))
    if not _HOST.fullmatch(host):
        raise InputError("--host", None, f"{host!a} is neither a host name nor an IP address")
    if host.lower().endswith(RESERVED_ZONE):
        raise InputError("--host", None, f"names that end in {RESERVED_ZONE} stand for identities")
    return x509.DNSName(host)


def _name(*parts: tuple[x509.ObjectIdentifier, str]) -> x509.Name:
    return x509.Name([x509.NameAttribute(*part) for part in parts])


def _purposes(user: bool) -> x509.ExtendedKeyUsage:
    client, server = ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH
    return x509.ExtendedKeyUsage([client] if user else [server, client])


def _builder(
    issuer: x509.Name, subject: x509.Name, key: EllipticCurvePrivateKey, end: datetime, *, authority: bool
) -> x509.CertificateBuilder:
    others = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    not_for = dict.fromkeys((*others, "encipher_only", "decipher_only"), False)
    usage = x509.KeyUsage(digital_signature=not authority, key_cert_sign=authority, crl_sign=authority, **not_for)
    public = key.public_key()
    return (
        x509.CertificateBuilder()
        .issuer_name(issuer)
        .subject_name(subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.now(UTC) - _BACKDATED)
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=0 if authority else None), critical=True)
        .add_extension(usage, critical=True)
    )


def _end(days: int) -> datetime:
    return datetime.now(UTC) + timedelta(days=days)


def _refuse_existing(paths: Sequence[Path], rule: str) -> None:
    for path in paths:
        if path.exists() or path.is_symlink():
            raise InputError(str(path), None, f"exists; {rule}")


def _write(pem: Path, key_file: Path, certificate: x509.Certificate, key: EllipticCurvePrivateKey, uri: str) -> Issued:
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    _write_together([(key_file, secret, _SECRET), (pem, certificate.public_bytes(Encoding.PEM), _PUBLIC)])
    return Issued(pem, key_file, uri, certificate.not_valid_after_utc.timestamp())


def _write_together(files: Sequence[tuple[Path, bytes, int]]) -> None:
    """Write all files under temporary names in their folders, then rename them; the OSError names the file."""
    with ExitStack() as cleaning:
        written = []
        for path, content, mode in files:
            beside = path.with_name(f".{secrets.token_hex(8)}.part")
            cleaning.callback(beside.unlink, missing_ok=True)
            try:
                _write_new(beside, content, mode)
            except OSError as error:
                raise OSError(error.errno, error.strerror, str(path)) from None
            written.append((beside, path))
        for beside, path in written:
            os.replace(beside, path)


def _write_new(path: Path, content: bytes, mode: int) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
