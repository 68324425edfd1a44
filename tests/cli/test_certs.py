"""`cosched certs`: what it writes, whose it is, and each mistake in one line."""

import ipaddress
import stat
import time
import tomllib
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from click.testing import Result
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from cosched.certificates.pem import dns_names, expires, identities, server_name

DAY_S = 86_400
EUREKA = "spiffe://lab.example/cosched/eureka"
Run = Callable[..., Result]


@pytest.fixture
def certs(cosched: Run) -> Run:
    """Run `cosched certs` in a folder of its own."""
    return partial(cosched, "certs")


@pytest.fixture
def refused(certs: Run) -> Callable[..., str]:
    """The one line that a mistake gets."""

    def run(*args: object) -> str:
        before = tree()
        result = certs(*args, exit_code=2)
        assert result.stdout == ""
        assert result.stderr.count("\n") == 1
        assert tree() == before
        return result.stderr.removeprefix("cosched: ").rstrip("\n")

    return run


def tree() -> dict[str, bytes]:
    """All files with their contents."""
    return {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file()}


def load(path: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(Path(path).read_bytes())


def purposes(certificate: x509.Certificate) -> set[x509.ObjectIdentifier]:
    return set(certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)


def mode(path: str) -> int:
    return stat.S_IMODE(Path(path).stat().st_mode)


def test_authority(certs: Run) -> None:
    result = certs("init", "pki/new", "--site", "lab.example", "--days", 10)
    certificate = load("pki/new/ca.pem")
    assert identities(certificate) == ["spiffe://lab.example"]
    assert certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    certificate.verify_directly_issued_by(certificate)
    assert (mode("pki/new/ca.key"), mode("pki/new/ca.pem") & 0o600) == (0o600, 0o600)
    assert sorted(tree()) == ["pki/new/ca.key", "pki/new/ca.pem"]
    assert abs(expires("pki/new/ca.pem") - time.time() - 10 * DAY_S) < DAY_S
    assert "pki/new/ca.pem: certificate authority of spiffe://lab.example, valid until 20" in result.stderr


def test_domain(certs: Run) -> None:
    certs("init", "pki", "--site", "lab.example")
    result = certs("issue", "pki", "eureka", "--days", 7)
    certificate = load("pki/eureka.pem")
    certificate.verify_directly_issued_by(load("pki/ca.pem"))
    assert identities(certificate) == [EUREKA]
    assert dns_names(certificate) == [server_name(EUREKA), "localhost"]
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.IPAddress) == [ipaddress.ip_address(ip) for ip in ("127.0.0.1", "::1")]
    assert purposes(certificate) == {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH}
    assert certificate.not_valid_before_utc < datetime.now(UTC)
    assert abs(expires("pki/eureka.pem") - time.time() - 7 * DAY_S) < DAY_S
    assert mode("pki/eureka.key") == 0o600
    assert f"pki/eureka.pem: certificate of {EUREKA}, valid until 20" in result.stderr


def test_what_it_prints_goes_into_the_configuration(certs: Run) -> None:
    certs("init", "pki", "--site", "lab.example")
    shown = tomllib.loads(certs("issue", "pki", "eureka").stdout)
    here = Path.cwd() / "pki"
    files = {"ca": "ca.pem", "certificate": "eureka.pem", "key": "eureka.key"}
    assert shown["tls"] == {key: str(here / name) for key, name in files.items()}
    assert shown["peer"] == [{"name": "eureka", "address": "HOST:PORT", "identity": EUREKA}]
    shown = tomllib.loads(certs("issue", "pki", "alice", "--user").stdout)
    assert shown == {"tls": {"user_identity": "spiffe://lab.example/cosched/user/"}}


def test_user(certs: Run) -> None:
    certs("init", "pki")
    certs("issue", "pki", "alice", "--user")
    certificate = load("pki/alice.pem")
    assert identities(certificate) == ["spiffe://site/cosched/user/alice"]
    assert dns_names(certificate) == []
    assert purposes(certificate) == {ExtendedKeyUsageOID.CLIENT_AUTH}


def test_hosts_and_another_folder(certs: Run) -> None:
    certs("init", "pki")
    certs("issue", "pki", "eureka", "--host", "eureka.lab.example", "--host", "10.0.0.7", "--out", "there/tls")
    certificate = load("there/tls/eureka.pem")
    assert dns_names(certificate)[1:] == ["eureka.lab.example"]
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.IPAddress) == [ipaddress.ip_address("10.0.0.7")]
    assert sorted(tree()) == ["pki/ca.key", "pki/ca.pem", "there/tls/eureka.key", "there/tls/eureka.pem"]


def test_no_certificate_outlives_its_authority(certs: Run) -> None:
    certs("init", "pki", "--days", 3)
    certs("issue", "pki", "eureka", "--days", 100)
    assert expires("pki/eureka.pem") == expires("pki/ca.pem")


def test_force_replaces(certs: Run) -> None:
    certs("init", "pki")
    certs("issue", "pki", "eureka")
    Path("pki/eureka.key").chmod(0o644)
    before = tree()
    certs("issue", "pki", "eureka", "--force")
    after = tree()
    assert {path for path in after if after[path] != before[path]} == {"pki/eureka.key", "pki/eureka.pem"}
    assert mode("pki/eureka.key") == 0o600


def test_existing_files_are_kept(certs: Run, refused: Callable[..., str]) -> None:
    certs("init", "pki")
    assert refused("init", "pki") == "pki/ca.pem: exists; a certificate authority is never overwritten"
    certs("issue", "pki", "eureka")
    assert refused("issue", "pki", "eureka") == "pki/eureka.pem: exists; --force replaces it"
    Path("pki/eureka.pem").unlink()
    assert refused("issue", "pki", "eureka") == "pki/eureka.key: exists; --force replaces it"
    Path("pki/ca.pem").unlink()
    assert refused("init", "pki") == "pki/ca.key: exists; a certificate authority is never overwritten"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a b", "x" * 65, "käse", "a\n", "../ca"])
def test_bad_names(certs: Run, refused: Callable[..., str], name: str) -> None:
    certs("init", "pki")
    assert refused("issue", "pki", name) == "NAME: must be 1 to 64 of A-Z a-z 0-9 _ . -"


def test_other_mistakes(certs: Run, refused: Callable[..., str]) -> None:
    assert refused("init", "pki", "--site", "Lab") == "--site: must be 1 to 64 of a-z 0-9 _ . -"
    assert refused("issue", "pki", "a") == (
        "pki/ca.pem: is missing; make the certificate authority first, by `cosched certs init`"
    )
    certs("init", "pki")
    said = "--host is for domains, not for users. Try 'cosched certs issue -h'"
    assert refused("issue", "pki", "alice", "--user", "--host", "localhost") == said
    assert refused("issue", "pki", "ca", "--force") == (
        "NAME: must not be ca, whose files are those of the certificate authority"
    )
    for host in ("", "a b", "*.lab", "1.2.3", "a..b", "-a", "x" * 64):
        assert refused("issue", "pki", "a", "--host", host) == (
            f"--host: {host!a} is neither a host name nor an IP address"
        )
    other = server_name(EUREKA).upper()
    assert refused("issue", "pki", "a", "--host", other) == (
        "--host: names that end in .cosched.internal stand for identities"
    )


def test_authority_that_cannot_sign(certs: Run, refused: Callable[..., str]) -> None:
    certs("init", "pki")
    certs("init", "other")
    key = Path("pki/ca.key").read_bytes()
    Path("pki/ca.key").write_bytes(Path("other/ca.key").read_bytes())
    assert refused("issue", "pki", "a") == "pki/ca.key: is not the key that belongs to the certificate"
    Path("pki/ca.key").unlink()
    assert refused("issue", "pki", "a") == "pki/ca.key: No such file or directory"
    Path("pki/ca.key").write_bytes(key)
    certs("issue", "pki", "eureka")
    Path("pki/ca.pem").write_bytes(Path("pki/eureka.pem").read_bytes())
    assert refused("issue", "pki", "a") == "pki/ca.pem: is not a certificate authority made by `cosched certs init`"
    Path("pki/ca.pem").write_text("nonsense")
    assert refused("issue", "pki", "a") == "pki/ca.pem: is not a certificate in PEM"


def test_expired_authority(refused: Callable[..., str]) -> None:
    from cosched.certificates.authority import init_authority

    init_authority(Path("pki"), days=0)
    assert refused("issue", "pki", "a").startswith("pki/ca.pem: has expired on 20")


def test_revoked_certificates_are_listed_and_stay_so(certs: Run) -> None:
    certs("init", "pki")
    assert "pki/ca.crl: 0 revoked, a newer list is due by 20" in certs("revoke", "pki").stderr
    serials = set()
    for _ in range(2):
        certs("issue", "pki", "eureka", "--force")
        serials.add(load("pki/eureka.pem").serial_number)
        certs("revoke", "pki", "pki/eureka.pem", "pki/eureka.pem")
    assert "pki/ca.crl: 2 revoked" in certs("revoke", "pki", "--days", 7).stderr
    made = x509.load_pem_x509_crl(Path("pki/ca.crl").read_bytes())
    assert {entry.serial_number for entry in made} == serials
    assert made.is_signature_valid(load("pki/ca.pem").public_key())
    assert abs(made.next_update_utc.timestamp() - time.time() - 7 * DAY_S) < DAY_S


def test_what_is_not_the_authority_s_to_revoke(certs: Run, refused: Callable[..., str]) -> None:
    certs("init", "pki")
    certs("init", "other")
    certs("issue", "other", "a")
    assert refused("revoke", "pki", "other/a.pem") == (
        "other/a.pem: is not of this certificate authority, which cannot revoke it"
    )
    assert refused("revoke", "pki", "pki/ca.pem").startswith("pki/ca.pem: is the authority's own")
    assert refused("revoke", "pki", "pki/none.pem") == "pki/none.pem: No such file or directory"
    Path("pki/ca.crl").write_text("nonsense")
    assert refused("revoke", "pki") == "pki/ca.crl: is not a certificate revocation list in PEM"


def test_folder_that_cannot_be_written(certs: Run) -> None:
    Path("file").touch()
    assert certs("init", "file/pki", exit_code=1).stderr == "cosched: file/pki: Not a directory\n"
