"""What is said of users' tokens."""

import os
from pathlib import Path

import pytest

from cosched.doctor.tokens import check_tokens
from cosched.installation import extras
from cosched.service.configuration import Configuration
from cosched_adapters.findings import Finding, Grade
from cosched_adapters.permissions import Account
from tests.service.issuer import URL, Issuer
from tests.service.pki import Pki


@pytest.fixture
def pki(tmp_path: Path) -> Pki:
    pki = Pki(tmp_path)
    pki.files("a")
    return pki


@pytest.fixture
def issuer(tmp_path: Path) -> Issuer:
    return Issuer(tmp_path)


def finding(pki: Pki, issuer: Issuer, account: Account | None = None) -> Finding:
    domain = {"name": "a", "listen": "127.0.0.1:1", "state": pki.folder / "state.db"}
    tls = {"ca": pki.folder / "ca.pem", "certificate": pki.folder / "a.pem", "key": pki.folder / "a.key"}
    more = {"tokens": issuer.section("127.0.0.1:2"), "manager": {"kind": "local"}}
    configuration = Configuration.model_validate({"domain": domain, "tls": tls, **more})
    assert not list(check_tokens(configuration.model_copy(update={"tokens": None}), Account.of(os.geteuid())))
    (found,) = check_tokens(configuration, account or Account.of(os.geteuid()))
    assert bool(found.change) == bool(found.lines) == (found.grade is not Grade.OK)
    return found


def test_a_key_set_that_others_may_read_is_right(pki, issuer):
    issuer.path.chmod(0o644)
    found = finding(pki, issuer)
    assert (found.grade, found.found) == (Grade.OK, f"{issuer.path} has keys of {URL}: first")


@pytest.mark.parametrize(
    ("text", "said"), [("{}", "is not a JSON Web Key Set"), ('{"keys": []}', "has no key for RS256")]
)
def test_a_key_set_without_keys(pki, issuer, text, said):
    issuer.write(text)
    found = finding(pki, issuer)
    assert (found.grade, said in found.found) == (Grade.PROBLEM, True)
    assert found.change.startswith(f"fetch that of {URL} anew")


@pytest.mark.parametrize(("mode", "user", "change"), [(0o646, os.geteuid(), "o-w"), (0o600, 65534, "a+r")])
def test_a_key_set_that_others_may_change_or_the_service_may_not_read(pki, issuer, mode, user, change):
    issuer.path.chmod(mode)
    found = finding(pki, issuer, Account.of(user))
    assert (found.grade, found.lines) == (Grade.PROBLEM, (f"chmod {change} {issuer.path}",))


def test_the_extra_is_not_installed(pki, issuer, monkeypatch):
    monkeypatch.setitem(extras.PACKAGES, extras.TOKENS, ("no_such_package",))
    found = finding(pki, issuer)
    assert (found.grade, found.lines) == (Grade.PROBLEM, ("pip install 'coscheduling[tokens]'",))
