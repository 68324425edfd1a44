"""What `serve` refuses before it opens anything, `serve --check` refuses in the same words."""

import asyncio
import json
import socket
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cosched.core.scheduling.capabilities import Capabilities
from cosched.doctor.manager import check_manager
from cosched.schedulers.loading import kinds
from cosched.service.configuration import read_configuration
from cosched.service.preparing import check_addresses, doubtful_identity, prepare
from cosched.words.errors import InputError
from cosched_adapters.local.manager import LocalManager
from tests.live.services import COMMAND, PATIENCE, free_port, toml
from tests.service.pki import EUREKA, INTREPID, USERS, Pki


@pytest.fixture(scope="module")
def pki(tmp_path_factory) -> Pki:
    pki = Pki(tmp_path_factory.mktemp("pki"))
    for name in ("intrepid", "eureka"):
        pki.files(name)
    pki.files("alice", user=True)
    return pki


@pytest.fixture
def write(tmp_path: Path, pki: Pki):
    """Write intrepid's configuration, with these keys changed: {"tls.key": ...}; its path."""

    def make(**changed: Any) -> Path:
        sections: dict[str, Any] = {
            "domain": {"name": "intrepid", "listen": f"127.0.0.1:{free_port()}", "state": "state.db"},
            "tls": {key: str(pki.folder / file) for key, file in _files("intrepid").items()},
            "manager": {"kind": "local", "slots": 4},
            "peer": [{"name": "eureka", "address": "127.0.0.1:1", "identity": EUREKA}],
        }
        for dotted, value in changed.items():
            section, _, key = dotted.partition("__")
            sections[section][key] = value
        path = tmp_path / "domain.toml"
        path.write_text(toml(sections))
        return path

    return make


def _files(name: str) -> dict[str, str]:
    return {"ca": "ca.pem", "certificate": f"{name}.pem", "key": f"{name}.key"}


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as refused:
        prepare(read_configuration(path))
    return str(refused.value)


def test_a_good_configuration_is_prepared_and_opens_nothing(write, tmp_path):
    prepared = prepare(read_configuration(write()))
    assert prepared.manager.nodes == 4
    assert prepared.doubts == ()
    assert [entry.name for entry in tmp_path.iterdir()] == ["domain.toml"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"manager__slots": "8"}, "manager:slots: must be a whole number"),
        ({"manager__kind": "flux"}, "manager:kind: no adapter is named 'flux'"),
        ({"manager__grace": "long"}, "manager:grace: must be seconds"),
        ({"manager__node_pool": "partitioned:4x2"}, "manager:node_pool: partitioned:4x2 has 8 nodes, not 4"),
    ],
)
def test_what_is_wrong_with_the_managers_section(write, changed, said):
    assert refusal(write(**changed)).startswith(said)


@pytest.mark.papers
def test_a_manager_that_cannot_do_what_its_scheduler_needs(write, monkeypatch):
    path, fluid = write(manager__scheduler="fluid"), type(kinds()["fluid"])
    prepare(read_configuration(path))
    monkeypatch.setattr(fluid, "capabilities", Capabilities(resize=True, preempt=True))
    prepare(read_configuration(path))
    monkeypatch.setattr(LocalManager, "preempts", False)
    batch = "leave it out, or give scheduler=batch"
    assert refusal(path) == f"manager:scheduler: local cannot end running jobs and launch them again: {batch}"
    with monkeypatch.context() as patch:
        patch.setattr("cosched.doctor.manager.load_manager", lambda _: lambda *_: SimpleNamespace(preempts=False))
        (told,) = asyncio.run(check_manager(read_configuration(path), None))
    assert (told.subject, told.found) == ("scheduler", "local cannot change the sizes of running jobs")
    monkeypatch.setattr(fluid, "capabilities", Capabilities(resize=True, named_places=True))
    assert refusal(path) == f"manager:scheduler: local cannot give running jobs other nodes by name: {batch}"
    monkeypatch.setattr(LocalManager, "names_nodes", False)
    assert refusal(path) == f"manager:scheduler: local cannot start jobs on named nodes: {batch}"


@pytest.mark.papers
def test_the_slots_of_a_heterogeneous_domain_are_the_machines_that_are_up(write, tmp_path):
    (tmp_path / "site.toml").write_text('down = ["b"]\n[[machines]]\nclass = "x"\nnames = ["c", "b", "a"]\n')
    (tmp_path / "times.csv").write_text("job_class,resource,seconds\nfft,a,5\n")
    files = {f"manager__{key}": str(tmp_path / file) for key, file in (("site", "site.toml"), ("times", "times.csv"))}
    path = write(manager__scheduler="heterogeneous", manager__slots=2, **files)
    assert list(prepare(read_configuration(path)).manager.node_names) == ["c", "a"]
    path.write_text(path.read_text().replace("slots = 2\n", ""))
    assert prepare(read_configuration(path)).manager.nodes == 2
    (told,) = asyncio.run(check_manager(read_configuration(path), SimpleNamespace(account=None, domain=None)))
    assert told.subject == "settings"
    named = write(manager__scheduler="heterogeneous", manager__names=["a", "c"], **files)
    assert refusal(named).startswith("manager:names: is not a setting of the local manager")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[machine]]\nname = "a"\nsped = 1\n', "machine.a.sped: no such key; did you mean speed?"),
        ('[[domain]]\nname = "eureka"\n', "domain: this is the list of intrepid's own machines"),
        (
            '[[machine]]\nname = "a"\n[[source]]\nkind = "domains"\n',
            "source.1.kind: intrepid asks no domains of its own machines",
        ),
        ('[[machine]]\nname = "a"\n[[source]]\nkind = "series"\n', "source.1.file: missing"),
    ],
)
def test_what_is_wrong_with_the_list_of_machines(write, tmp_path, text, said):
    (tmp_path / "machines.toml").write_text(text)
    path = write()
    path.write_text(path.read_text() + '[machines]\nfile = "machines.toml"\n')
    assert refusal(path).startswith(f"{tmp_path}/machines.toml:{said}")


def test_files_of_tls_that_do_not_belong_together(write, pki):
    assert "eureka.key" in refusal(write(tls__key=str(pki.folder / "eureka.key")))
    assert "ca.key" in refusal(write(tls__ca=str(pki.folder / "ca.key")))


def test_the_certificate_of_a_peer_or_a_user_is_refused(write, pki):
    def with_files_of(name: str) -> str:
        files = {f"tls__{key}": str(pki.folder / file) for key, file in _files(name).items()}
        return refusal(write(**files, tls__user_identity=USERS))

    assert f"eureka.pem is that of the peer eureka ({EUREKA})" in with_files_of("eureka")
    assert "alice.pem is a user's" in with_files_of("alice")


def test_an_identity_that_does_not_end_in_the_domains_name_is_doubted(write):
    assert doubtful_identity("intrepid", INTREPID) is None
    assert doubtful_identity("intrepid", "urn:site:intrepid") is None
    prepared = prepare(read_configuration(write(domain__name="mira")))
    doubt = f"the certificate is that of {INTREPID}, which does not end in mira: peers that pin mira's refuse it"
    assert prepared.doubts == (doubt,)


def test_an_address_that_is_taken_is_found_before_anything_is_opened(write):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        for key in ("listen", "http"):
            with pytest.raises(InputError, match=f"domain:{key}: {address} cannot be listened on: in use"):
                check_addresses(read_configuration(write(**{f"domain__{key}": address})))
    check_addresses(read_configuration(write()))


def test_the_command_says_the_same_with_and_without_check(write, tmp_path):
    path = write(manager__slots="8")
    said = []
    for option in ([], ["--check"]):
        command = [*COMMAND, "serve", "--config", str(path), *option]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 2
        said.append(done.stderr.splitlines())
    (_starting, mistake), checked = said
    assert [mistake] == checked
    assert json.dumps(str(path))[1:-1] + ":manager.slots: must be a whole number" in mistake
    assert not (tmp_path / "state.db").exists()
