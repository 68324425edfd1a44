"""Checks the files of [tls]: whether they fit together, when they expire, and who can read the key."""

from __future__ import annotations

import shlex
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from cosched.certificates.pem import dns_names, identities, parse_certificates, parse_key, read, server_name
from cosched.service.configuration import Configuration
from cosched.service.configuration_sections import Tls
from cosched.service.preparing import doubtful_identity, wrong_identity
from cosched.service.wire.revocations import read_revocations
from cosched.words.errors import InputError
from cosched_adapters.findings import SHELL, Finding, ok, problem, section, warning
from cosched_adapters.permissions import READ, Account

# What is left of a certificate: less is a problem, less is a warning. Of short lives a share of the life counts.
LITTLE, SOME = timedelta(days=7), timedelta(days=30)
_LITTLE_SHARE, _SOME_SHARE = 10, 3  # a tenth, a third
_GROUP_READS, _OTHERS_READ = stat.S_IRGRP, stat.S_IROTH


def check_certificates(configuration: Configuration, account: Account) -> Iterator[Finding]:
    """Check the files, unless TLS is not used. `account`: the service's user."""
    if not configuration.domain.plaintext and configuration.tls is None:
        return  # its peers call by Unix sockets
    if configuration.domain.plaintext or configuration.tls is None:
        found = "plaintext: any process on this host can speak as a peer"
        yield warning("tls", found, "use certificates, except for trials", section("domain"), "plaintext = false")
        return
    files, name = configuration.tls, configuration.domain.name
    try:
        certificates = parse_certificates(files.certificate, read(files.certificate))
        authorities = parse_certificates(files.ca, read(files.ca))
        parse_key(files.key, read(files.key), certificates[0])
    except InputError as error:
        yield _unusable(files, error, name)
        return
    yield _check_names(certificates[0], configuration)
    yield _check_chain(files, certificates, authorities, name)
    yield check_days("certificate", files.certificate, certificates, _issue(name))
    yield check_days("ca", files.ca, authorities, "cosched certs init NEW_DIR --site SITE")
    if files.crl is not None:
        yield _check_list(files.crl, certificates[0], authorities, name)
    yield _check_key(files.key, account)


def _unusable(files: Tls, error: InputError, name: str) -> Finding:
    if error.source == str(files.ca):
        change = "name the certificate of the authority, which is the same on all sides"
        return problem("tls", str(error), change, section("tls"), 'ca = "CA.pem"')
    change = "name a certificate and its own key in [tls], or issue them"
    return problem("tls", str(error), change, SHELL, _issue(name))


def check_days(subject: str, path: Path, certificates: Sequence[x509.Certificate], command: str) -> Finding:
    """Check how long the first certificate to expire is still valid."""
    now = datetime.now(UTC)
    begin = max(certificate.not_valid_before_utc for certificate in certificates)
    first = min(certificates, key=lambda certificate: certificate.not_valid_after_utc)
    end, life = first.not_valid_after_utc, first.not_valid_after_utc - first.not_valid_before_utc
    left = end - now
    if begin > now:
        found = f"{path} is not valid before {_date(begin)}"
        return problem(subject, found, "set the clock, or issue it again", SHELL, command)
    if end <= now:
        found = f"{path} has expired on {_date(end)}: peers refuse it"
        return problem(subject, found, "issue it again", SHELL, command)
    found = f"{path} is valid for {_length(left)}, until {_date(end)}"
    if left < min(SOME, life / _SOME_SHARE):
        grade = problem if left < min(LITTLE, life / _LITTLE_SHARE) else warning
        return grade(subject, found, "issue it again in time; the service uses it without a restart", SHELL, command)
    return ok(subject, found)


def _length(left: timedelta) -> str:
    return f"{left.days} days" if left.days > 1 else f"{int(left.total_seconds() // 3600)} hours"


def _date(instant: datetime) -> str:
    return f"{instant:%Y-%m-%d}"


def _issue(name: str) -> str:
    return f"cosched certs issue DIR_OF_CA {name} --force"


def _check_names(leaf: x509.Certificate, configuration: Configuration) -> Finding:
    uris, name = identities(leaf), configuration.domain.name
    if len(uris) != 1:
        found = f"the certificate names {len(uris)} URIs, not one"
        return problem("identity", found, "issue it again", SHELL, _issue(name))
    [identity] = uris
    if (needed := server_name(identity)) not in dns_names(leaf):
        found = f"{identity}, but the certificate lacks the DNS name that belongs to it: peers refuse it"
        change = "issue it by cosched certs, or with that name"
        return problem("identity", found, change, "subjectAltName", f"DNS:{needed}")
    if reason := wrong_identity(configuration, identity):
        return problem("identity", f"the certificate {reason}", "give this domain its own", SHELL, _issue(name))
    if doubt := doubtful_identity(name, identity):
        change = "give this domain its own, unless peers know it by this one"
        return warning("identity", doubt, change, SHELL, _issue(name))
    return ok("identity", f"{identity}: peers must name it as identity in their [[peer]]")


def _check_chain(
    files: Tls, certificates: Sequence[x509.Certificate], authorities: Sequence[x509.Certificate], name: str
) -> Finding:
    if not _is_issued(certificates[0], [*authorities, *certificates[1:]]):
        found = f"{files.certificate} is not of the authority in {files.ca}"
        return problem("chain", found, "use files of one authority", SHELL, _issue(name))
    return ok("chain", f"the key fits the certificate, which the authority in {files.ca} has signed")


def _is_issued(leaf: x509.Certificate, issuers: Sequence[x509.Certificate]) -> bool:
    for issuer in issuers:
        with suppress(ValueError, TypeError, InvalidSignature):
            leaf.verify_directly_issued_by(issuer)
            return True
    return False


def _check_list(path: Path, leaf: x509.Certificate, authorities: Sequence[x509.Certificate], name: str) -> Finding:
    renew = "cosched certs revoke DIR_OF_CA"
    try:
        revocations = read_revocations(path, authorities)
    except InputError as error:
        return problem("crl", str(error), "name the list of the authority in tls.ca, or make it", SHELL, renew)
    if revocations.names(leaf):
        return problem("crl", f"{path} revokes this domain's certificate", "issue it again", SHELL, _issue(name))
    if why := revocations.problem():
        return problem("crl", f"{path} {why}", "renew it, and copy it to all domains", SHELL, renew)
    until = f", until {_date(revocations.until)}" if revocations.until is not None else ""
    return ok("crl", f"{path} revokes {len(revocations.revoked)} certificates{until}")


def _check_key(path: Path, account: Account) -> Finding:
    mode, quoted = path.stat().st_mode, shlex.quote(str(path))
    if mode & _OTHERS_READ:
        found = f"{path} can be read by all users of this host, who can speak as this domain"
        return problem("key", found, "hide it, and issue a new one", SHELL, f"chmod 600 {quoted}")
    if not account.may(path, READ):
        found = f"{account.name} cannot read {path}"
        return problem("key", found, "give it to the service's user", SHELL, f"chown {account.name} {quoted}")
    if mode & _GROUP_READS:
        found = f"{path} can be read by its group"
        return warning("key", found, "hide it, if that is not intended", SHELL, f"chmod 600 {quoted}")
    return ok("key", f"only {account.name} and root can read {path}" if account.uid else f"only root can read {path}")
