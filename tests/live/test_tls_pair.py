"""Services over TLS: whoever is not who he should be is refused, loudly, and no job starts alone because of it."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from cosched.certificates.pem import server_name
from cosched.service.wire.tls_files import TlsFiles
from tests.live.secured import SITE, secure
from tests.live.services import Service, noted, script_that_notes, start_all, wait_until, whys
from tests.service.pki import Pki


def test_a_pair_with_certificates_of_the_command_starts_together_and_after_their_renewal_too(make_pair, tmp_path):
    pair, files = make_pair(scheme="hold"), tmp_path / "certs"
    for arguments in (["init", files], ["issue", files, "a"], ["issue", files, "b"]):
        assert pair.a.run("certs", *map(str, arguments)).returncode == 0
    secure(pair.a, files, [pair.b])
    secure(pair.b, files, [pair.a])
    pair.start()
    start_together(pair, "before")
    for name in "ab":
        assert pair.a.run("certs", "issue", str(files), name, "--force").returncode == 0
    start_together(pair, "after")
    assert all("new TLS files are in use" in service.log for service in pair.both)


def start_together(pair, name: str) -> None:
    script = script_that_notes(pair.folder)
    with pair.a.client() as a, pair.b.client() as b:
        first = a.submit(script, pair=name)
        wait_until(lambda: a.job(first).reason == "MateUnsubmitted")
        second = b.submit(script, pair=name)
        wait_until(lambda: a.job(first).state == b.job(second).state == "completed")
    assert sorted(start[0] for start in noted(pair.folder) if start[2] == name) == ["a", "b"]


# Services with something wrong, each in a pair with one that is as it should be


def stranger(service: Service, files: Path, pki: Pki) -> None:  # noqa: ARG001
    """Of another authority."""
    take(Pki(files / "other").files(service.name), service, files)


def expired(service: Service, files: Path, pki: Pki) -> None:
    identity = SITE + service.name
    take(pki.made(service.name, [identity], [server_name(identity)], begin=-3, end=-1), service, files)


def impostor(service: Service, files: Path, pki: Pki) -> None:
    """With the certificate of another domain."""
    take(pki.files("mira"), service, files)


def plain(service: Service, files: Path, pki: Pki) -> None:  # noqa: ARG001
    """Without TLS."""
    service.config["domain"]["plaintext"] = True
    del service.config["tls"]
    for peer in service.config["peer"]:
        del peer["identity"]


def take(made: TlsFiles, service: Service, files: Path) -> None:
    _, certificate, key = made._paths
    shutil.copy(certificate, files / f"{service.name}.pem")
    shutil.copy(key, files / f"{service.name}.key")


TOGETHER = ("its mate could start", "its holding mate started")
Trouble = Callable[[Service, Path, Pki], None]
SAID: dict[Trouble, tuple[str, str]] = {  # by the good domain of the other, and by the other of the good one
    stranger: ("not of this domain's certificate authority", "refuses this domain's certificate"),
    expired: ("the peer's certificate has expired", "it has expired"),
    impostor: (f"is that of {SITE}mira", "PEER_UNKNOWN"),
    plain: ("does not speak TLS", "the peer speaks TLS"),
}


def test_a_peer_with_a_wrong_certificate_is_refused_until_it_has_a_right_one(make_service, pki, tmp_path):
    good = make_service("good", scheme="hold", release_interval=1, peer_patience="1h")
    good.config["manager"]["slots"] = 20
    others = {trouble: make_service(trouble.__name__, scheme="yield", peer_patience="1h") for trouble in SAID}
    secure(good, pki.folder, others.values())
    pki.files("good")
    for trouble, other in others.items():
        files = tmp_path / other.name
        shutil.copy(pki.folder / "ca.pem", files)
        secure(other, files, [good])
        trouble(other, files, pki)
    start_all([good, *others.values()])
    jobs = {other.name: submit_pair(good, other, tmp_path) for other in others.values()}
    for trouble, other in others.items():
        wait_until(lambda other=other: waits(good, jobs[other.name][0]) and waits(other, jobs[other.name][1]))
        for service, peer, problem in ((good, other, SAID[trouble][0]), (other, good, SAID[trouble][1])):
            wait_until(lambda at=(service, peer.name, problem): is_refused(*at), problem)  # unreachable at first
            assert f"peer {peer.name} is refused" in service.log
    for service, count in ((good, len(others)), *((other, 1) for other in others.values())):
        wait_until(lambda: len(re.findall(r"\brefused\b", service.run("domains").stdout)) >= count)  # noqa: B023
    assert noted(tmp_path) == []
    others.pop(plain)  # it would have to be restarted
    for other in others.values():
        take(pki.files(other.name, force=True), other, tmp_path / other.name)
    for other in others.values():
        for service, job in zip((good, other), jobs[other.name], strict=True):
            found = wait_until(lambda service=service, job=job: whys(service, job), f"{other.name} starts")
            assert found[0] in ("asked by good", f"asked by {other.name}", *TOGETHER)
    wait_until(lambda: len(noted(tmp_path)) == 2 * len(others), "they run")


def is_refused(service: Service, name: str, problem: str) -> bool:
    with service.client() as client:
        [seen] = [peer for peer in client.domain().peers if peer.name == name]
    return seen.state == "refused" and problem in seen.problem


def submit_pair(good: Service, other: Service, folder: Path):
    script = script_that_notes(folder)
    with good.client() as client, other.client() as theirs:
        return client.submit(script, pair=other.name, pair_domain=other.name), theirs.submit(script, pair=other.name)


def waits(service: Service, job) -> bool:
    """Whether it has waited several times for a peer that refuses it, or is refused."""
    with service.client() as client:
        now = client.job(job)
        return now.reason == "PeerRefused" and now.holds.holds + now.holds.yields >= 3
