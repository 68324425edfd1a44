"""A domain's certificate, key, authority and list of revoked certificates: checks the files, and follows changes."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from ssl import CERT_OPTIONAL, PROTOCOL_TLS_CLIENT, PROTOCOL_TLS_SERVER, SSLContext, SSLError
from threading import Lock

from cryptography import x509

from cosched.certificates.pem import identities, parse_certificates, parse_key, read
from cosched.service.wire.revocations import Revocations, read_revocations
from cosched.words.errors import InputError

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Material:
    """The contents of the files, checked."""

    ca: bytes
    certificate: bytes
    key: bytes = field(repr=False)
    leaf: x509.Certificate
    revocations: Revocations | None = None

    @property
    def identity(self) -> str:
        """Return the URI by which others know this domain."""
        return identities(self.leaf)[0]

    def problem(self) -> str | None:
        """Return why others will refuse the certificate now, because of its dates or as it is revoked, if they will."""
        now = datetime.now(UTC)
        if now < self.leaf.not_valid_before_utc:
            return f"is not valid before {self.leaf.not_valid_before_utc:%Y-%m-%d %H:%M} UTC"
        if now > self.leaf.not_valid_after_utc:
            return f"has expired on {self.leaf.not_valid_after_utc:%Y-%m-%d %H:%M} UTC"
        return "is revoked" if self.revokes(self.leaf) else None

    def revokes(self, certificate: x509.Certificate) -> bool:
        """Return whether a certificate is revoked."""
        return self.revocations is not None and self.revocations.names(certificate)

    def client_context(self) -> SSLContext:
        """Return an ssl context with this certificate; it does not check names, which is left to the caller."""
        context = self._with_files(SSLContext(PROTOCOL_TLS_CLIENT))
        context.check_hostname = False
        return context

    def page_context(self) -> SSLContext:
        """Return an ssl context for a server of browsers: whoever has a certificate of this authority may show it."""
        context = self._with_files(SSLContext(PROTOCOL_TLS_SERVER))
        context.verify_mode = CERT_OPTIONAL
        return context

    def _with_files(self, context: SSLContext) -> SSLContext:
        context.load_verify_locations(cadata=self.ca.decode("ascii", "ignore"))
        with _in_memory(self.certificate + b"\n" + self.key) as path:
            context.load_cert_chain(path)
        return context


class TlsFiles:
    """The files of [tls], for any thread. They can change at any time; unusable contents never replace good ones."""

    def __init__(self, ca: Path, certificate: Path, key: Path, crl: Path | None = None) -> None:
        """Read the files; InputError. `crl`: the authority's list of revoked certificates, if there is one."""
        self._paths = (ca, certificate, key)
        self._crl = crl
        self._lock = Lock()
        self._stamp = tuple(map(stamp_of, self._paths))
        self._generation = 1
        self._list_stamp = self._look_at_list()
        self._material = self._read()
        if crl is not None:
            self._material = replace(self._material, revocations=(revocations := self._read_list(crl)))
            if problem := revocations.problem():
                _LOG.error("%s %s; what it revokes stays revoked", crl, problem)
        if problem := self._material.problem():
            _LOG.error("%s %s: nobody will accept it", certificate, problem)

    def current(self) -> tuple[int, Material]:
        """Return the contents for a new connection, and a number that grows whenever other files than the list change.

        The list is for open connections, too: `Material.revokes`.
        """
        with self._lock:
            if (stamp := tuple(map(stamp_of, self._paths))) != self._stamp:
                self._stamp = stamp
                self._replace()
            if self._crl is not None and (of_list := self._look_at_list()) != self._list_stamp:
                self._list_stamp = of_list
                self._replace_list(self._crl)
            return self._generation, self._material

    def _look_at_list(self) -> tuple[object, int]:
        """Return the stamp of the list, and the generation of the authorities that must have signed it."""
        return stamp_of(self._crl) if self._crl is not None else None, self._generation

    def _replace(self) -> None:
        try:
            material = replace(self._read(), revocations=self._material.revocations)
            if problem := material.problem():
                raise InputError(str(self._paths[1]), None, problem)
        except InputError as error:
            _LOG.error("the new TLS files cannot be used, so the old ones stay in use: %s", error)
            return
        self._generation += 1
        self._material = material
        until = f"{material.leaf.not_valid_after_utc:%Y-%m-%d %H:%M}"
        _LOG.info("new TLS files are in use: %s, valid until %s UTC", material.identity, until)

    def _replace_list(self, path: Path) -> None:
        try:
            revocations = self._read_list(path)
            if problem := revocations.problem():
                raise InputError(str(path), None, problem)
        except InputError as error:
            _LOG.error("the new list of revoked certificates cannot be used, so the old one stays in use: %s", error)
            return
        self._material = replace(self._material, revocations=revocations)
        _LOG.info("%s: the new list of revoked certificates is in use, with %d", path, len(revocations.revoked))

    def _read_list(self, path: Path) -> Revocations:
        return read_revocations(path, parse_certificates(self._paths[0], self._material.ca))

    def _read(self) -> Material:
        ca_path, certificate_path, key_path = self._paths
        ca, certificate, key = map(read, self._paths)
        parse_certificates(ca_path, ca)
        leaf = parse_certificates(certificate_path, certificate)[0]
        parse_key(key_path, key, leaf)
        if (number := len(identities(leaf))) != 1:
            reason = f"must name one URI (subject alternative name) as identity, not {number}"
            raise InputError(str(certificate_path), None, reason)
        material = Material(ca, certificate, key, leaf)
        try:
            material.client_context()
        except SSLError as error:  # OpenSSL is stricter: it refuses short keys, for example
            raise InputError(str(certificate_path), None, f"cannot be used: {error.reason or error}") from None
        return material


def stamp_of(path: Path) -> tuple[int, int, int] | None:
    """Return what is another for a file that has changed: when it did, its size, its inode; None: it is not there."""
    try:
        about = os.stat(path)
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size, about.st_ino


@contextmanager
def _in_memory(content: bytes) -> Iterator[str]:
    """Yield the path of a file in memory: who needs a path gets the contents that were checked, not later ones."""
    fd = os.memfd_create("tls", os.MFD_CLOEXEC)
    try:
        with open(fd, "wb", closefd=False) as file:
            file.write(content)
        yield f"/proc/self/fd/{fd}"
    finally:
        os.close(fd)
