"""What is said of certificates."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from cosched.certificates.pem import server_name
from cosched.doctor.certificates import check_certificates
from cosched.service.configuration import Configuration
from cosched_adapters.findings import Finding, Grade
from cosched_adapters.permissions import Account
from tests.service.pki import Pki, write_leaf

IDENTITY = "spiffe://site/cosched/a"


@pytest.fixture
def pki(tmp_path: Path) -> Pki:
    return Pki(tmp_path)


def leaf(pki: Pki, *names: list[str], **days: int) -> None:
    """A certificate with any names, and its key, for the domain a."""
    write_leaf(pki.authority, pki.folder / "a", *names, **days)
    (pki.folder / "a.key").chmod(0o600)


def findings(folder: Path, ca: str = "ca.pem", certificate: str = "a.pem", key: str = "a.key", **crl: Path):
    """By subject."""
    files = {"ca": folder / ca, "certificate": folder / certificate, "key": folder / key, **crl}
    domain = {"name": "a", "listen": "127.0.0.1:1", "state": folder / "state.db"}
    configuration = Configuration.model_validate({"domain": domain, "tls": files, "manager": {"kind": "local"}})
    found = list(check_certificates(configuration, Account.of(os.geteuid())))
    assert all(bool(finding.change) == (finding.grade is not Grade.OK) for finding in found)
    return {finding.subject: finding for finding in found}


def wrong(found: dict[str, Finding]) -> dict[str, str]:
    return {subject: finding.grade.value for subject, finding in found.items() if finding.grade is not Grade.OK}


def test_what_the_command_issues_is_right(pki):
    pki.files("a")
    found = findings(pki.folder)
    assert wrong(found) == {}
    assert "valid for 364 days" in found["certificate"].found
    assert IDENTITY in found["identity"].found


@pytest.mark.parametrize(
    ("begin", "end", "grade", "words"),
    [
        (-300, 31, None, "valid for 30 days"),
        (-300, 29, "warning", "valid for 28 days"),
        (-300, 6, "problem", "valid for 5 days"),
        (-1, 1, None, "valid for 23 hours"),  # short lives, of which a third and a tenth count
        (-3, 1, "warning", "valid for 23 hours"),
        (-20, 1, "problem", "valid for 23 hours"),
        (-2, -1, "problem", "has expired on"),
        (1, 90, "problem", "is not valid before"),
    ],
)
def test_a_certificate_that_ends_soon_is_a_warning_and_then_a_problem(pki, begin, end, grade, words):
    leaf(pki, [IDENTITY], [server_name(IDENTITY)], begin=begin, end=end)
    found = findings(pki.folder)
    assert wrong(found) == ({"certificate": grade} if grade else {})
    assert words in found["certificate"].found
    if grade:
        assert found["certificate"].lines == ("cosched certs issue DIR_OF_CA a --force",)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="the page asks for openssl")
def test_the_request_that_the_page_shows_is_right_for_the_authority_of_a_site(tmp_path):
    text = (Path(__file__).parents[3] / "docs" / "operating.md").read_text(encoding="utf-8")
    lines = text.partition("\n    uri=")[2].partition("\n\n")[0]
    authority = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=Site -days 90"
    sign = "openssl x509 -req -in intrepid.csr -CA ca.pem -CAkey ca.key -days 90 -copy_extensions copy -out a.pem"
    script = f"{authority} -keyout ca.key -out ca.pem\nuri={lines}\n{sign}\nmv intrepid.key a.key\nchmod 600 a.key\n"
    subprocess.run(["sh", "-e"], input=script, text=True, cwd=tmp_path, check=True, capture_output=True)
    found = findings(tmp_path)
    assert wrong(found) == {"identity": "warning"}  # the page's domain has another name
    assert found["identity"].found.startswith("the certificate is that of spiffe://example/cosched/intrepid")


def test_a_certificate_of_another_authority_is_found(pki, tmp_path):
    pki.files("a")
    Pki(tmp_path / "other")
    assert wrong(findings(pki.folder, ca="other/ca.pem")) == {"chain": "problem"}


def test_a_key_of_another_certificate_is_found(pki):
    pki.files("a")
    pki.files("b")
    found = findings(pki.folder, key="b.key")
    assert wrong(found) == {"tls": "problem"}
    assert found["tls"].found.endswith("b.key: is not the key that belongs to the certificate")


def test_a_certificate_without_its_names_is_found(pki):
    leaf(pki, [IDENTITY], end=90)
    found = findings(pki.folder)["identity"]
    assert (found.grade, found.lines) == ("problem", (f"DNS:{server_name(IDENTITY)}",))
    leaf(pki, [IDENTITY, f"{IDENTITY}2"], end=90)
    assert "names 2 URIs" in findings(pki.folder)["identity"].found


def test_a_list_of_revoked_certificates_is_checked(pki, tmp_path):
    pki.files("a")
    pki.files("b")
    found = findings(pki.folder, crl=pki.revoke("b"))
    assert wrong(found) == {}
    assert "ca.crl revokes 1 certificates, until 20" in found["crl"].found
    expired = findings(pki.folder, crl=pki.odd_list(end=-1))
    assert "ca.crl has expired on 20" in expired["crl"].found
    found = findings(pki.folder, crl=pki.revoke("a"))
    assert found["crl"].lines == ("cosched certs issue DIR_OF_CA a --force",)
    of_another = findings(pki.folder, crl=Pki(tmp_path / "other").revoke())
    assert "is not in tls.ca" in of_another["crl"].found
    assert wrong(expired) == wrong(found) == wrong(of_another) == {"crl": "problem"}


@pytest.mark.parametrize(("mode", "grade"), [(0o644, "problem"), (0o640, "warning"), (0o600, None)])
def test_a_key_that_others_can_read_is_found(pki, mode, grade):
    pki.files("a")
    (pki.folder / "a.key").chmod(mode)
    found = findings(pki.folder)
    assert wrong(found) == ({"key": grade} if grade else {})
    if grade:
        assert found["key"].lines == (f"chmod 600 {pki.folder}/a.key",)
