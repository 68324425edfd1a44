"""TLS: certificates from files named by arguments or the environment."""

import datetime
import ipaddress
from contextlib import ExitStack

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from cosched.certificates.pem import server_name
from cosched.client import Client, Tls, Unreachable
from tests.client.fake_domain import serve

EUREKA = "spiffe://site/cosched/eureka"


class Authority:
    """Issues certificates into a folder."""

    def __init__(self, folder):
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = _name("ca")
        self._write("ca", self._sign("ca", self.key, [], ca=True), self.key)

    def issue(self, name, *alternatives):
        key = ec.generate_private_key(ec.SECP256R1())
        return self._write(name, self._sign(name, key, alternatives), key)

    def _sign(self, name, key, alternatives, ca=False):
        now = datetime.datetime.now(datetime.UTC)
        builder = x509.CertificateBuilder(self.name, _name(name), key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(now - datetime.timedelta(hours=1))
        builder = builder.not_valid_after(now + datetime.timedelta(hours=1))
        builder = builder.add_extension(x509.BasicConstraints(ca, None), critical=True)
        if alternatives:
            builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        return builder.sign(self.key, hashes.SHA256())

    def _write(self, name, certificate, key):
        files = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        pkcs8, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        files[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, pkcs8, plain))
        return files


def _name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


@pytest.fixture
def serving(authority, tmp_path):
    """Start a domain that wants certificates and has one with these names; its HOST:PORT."""
    with ExitStack() as stack:

        def start(*names):
            certificate, key = authority.issue("server", *names)
            credentials = grpc.ssl_server_credentials(
                [(key.read_bytes(), certificate.read_bytes())], (tmp_path / "ca.pem").read_bytes(), True
            )
            return stack.enter_context(serve("127.0.0.1:0", credentials)).address

        yield start


def test_files_named_by_the_environment(serving, authority, tmp_path, monkeypatch):
    certificate, key = authority.issue("alice", x509.UniformResourceIdentifier("spiffe://site/user/alice"))
    monkeypatch.setenv("COSCHED_CA", str(tmp_path / "ca.pem"))
    monkeypatch.setenv("COSCHED_CERTIFICATE", str(certificate))
    monkeypatch.setenv("COSCHED_KEY", str(key))
    with Client(serving(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))) as client:
        assert client.domain().name == "intrepid"


def test_the_identity_in_the_certificate_may_be_demanded(serving, authority, tmp_path):
    identity = "spiffe://site/cosched/intrepid"
    server = serving(x509.UniformResourceIdentifier(identity), x509.DNSName(server_name(identity)))
    files = tmp_path / "ca.pem", *authority.issue("alice")
    with Client(server, tls=Tls(*files, server_identity=identity)) as client:
        assert client.domain().name == "intrepid"
    for tls, wanted in ((Tls(*files, server_identity=EUREKA), EUREKA), (Tls(*files), "127.0.0.1")):
        said = f"the certificate of {server} is not that of {wanted}: set COSCHED_SERVER_IDENTITY to the domain's URI"
        assert problem(server, tls) == said


def problem(server, tls=None):
    """What is said of TLS, in one line and at once; the exit code of commands is that of a domain out of reach."""
    with Client(server, tls=tls) as client, pytest.raises(Unreachable) as failed:
        client.domain()
    assert failed.value.reason == "TLS"
    return str(failed.value)


LOCALHOST = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))


def test_a_domain_that_wants_tls_says_what_to_set(serving):
    server = serving(LOCALHOST)
    assert problem(server) == (
        f"{server} wants TLS: set COSCHED_CA, COSCHED_CERTIFICATE and COSCHED_KEY "
        "(or ca, certificate and key in client.toml)"
    )


def test_another_authority_is_one_plain_line(serving, tmp_path):
    server = serving(LOCALHOST)
    (tmp_path / "other").mkdir()
    other = Authority(tmp_path / "other")
    files = tmp_path / "other" / "ca.pem", *other.issue("alice")
    said = f"the certificate of {server} is not of the authority in {files[0]}: name the domain's as COSCHED_CA"
    assert problem(server, Tls(*files)) == said
    refused = problem(server, Tls(tmp_path / "ca.pem", *files[1:]))
    assert (
        refused == f"{server} refuses the certificate {files[1]}: it has expired, or is not of the domain's authority"
    )


def test_a_domain_that_wants_its_users_certificate_says_so(serving, tmp_path):
    server = serving(LOCALHOST)
    said = f"{server} wants a certificate of its user: set COSCHED_CERTIFICATE and COSCHED_KEY"
    assert problem(server, Tls(tmp_path / "ca.pem")) == said


@pytest.mark.usefixtures("authority")
def test_a_domain_without_tls(tmp_path):
    with serve("127.0.0.1:0") as domain:
        assert problem(domain.address, Tls(tmp_path / "ca.pem")) == (
            f"{domain.address} does not speak TLS: unset COSCHED_CA (or ca in client.toml)"
        )


def test_files_that_do_not_fit(serving, authority, tmp_path):
    server, certificate, key = serving(LOCALHOST), authority.issue("alice")[0], authority.issue("bob")[1]
    assert "the key is not the certificate's" in problem(server, Tls(tmp_path / "ca.pem", certificate, key))


def test_a_certificate_without_its_key():
    with pytest.raises(ValueError, match="needs its key"):
        Tls("ca.pem", "alice.pem")


def test_a_certificate_without_an_authority(monkeypatch):
    monkeypatch.delenv("COSCHED_CA", raising=False)
    monkeypatch.setenv("COSCHED_KEY", "alice.key")
    with pytest.raises(ValueError, match="need COSCHED_CA"):
        Client("localhost:1")


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        Client("localhost:1", tls=Tls(tmp_path / "none.pem"))
