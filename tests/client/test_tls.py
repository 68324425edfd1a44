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

from cosched.client import Client, Tls, Unreachable
from cosched.pem import server_name
from tests.client.fake_domain import serve


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
    for tls in (Tls(*files, server_identity="spiffe://site/cosched/eureka"), Tls(*files)):
        with Client(server, tls=tls) as client, pytest.raises(Unreachable, match="cannot be reached"):
            client.domain()


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
