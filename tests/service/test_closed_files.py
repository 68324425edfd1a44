"""A file that the service's user cannot use: the line names the folder that is closed, and the user."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cosched.certificates.pem import read as read_pem
from cosched.cli.client.scripts import read_script
from cosched.client.defaults import defaults
from cosched.service.configuration import read_configuration
from cosched.service.listeners.local_socket import listen_at
from cosched.service.store.errors import StoreError
from cosched.service.store.store import Store
from cosched.words.errors import InputError
from cosched_adapters.manager import SettingError
from cosched_adapters.setting_checks import common
from tests.live.other_users import a_public_folder, acting_as, needs_root
from tests.service.configured import PLAIN, SECURE

pytestmark = needs_root  # who becomes somebody else


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder of everybody's, with another in it that is root's alone and has a file."""
    with a_public_folder() as folder:
        (folder / "closed").mkdir()
        (folder / "closed" / "file").write_text("#!/bin/sh\n")
        (folder / "closed" / "file").chmod(0o755)
        (folder / "closed").chmod(0o700)
        for name in ("ca.pem", "certificate.pem", "key.pem"):
            (folder / name).touch()
        yield folder


def configured(text: str) -> Callable[[Path], object]:
    def use(folder: Path) -> object:
        (folder / "d.toml").write_text(text.replace("CLOSED", str(folder / "closed")))
        return read_configuration(folder / "d.toml")

    return use


USES: dict[str, Callable[[Path], object]] = {
    "tls.ca": configured(SECURE.replace("ca.pem", "CLOSED/file")),
    "tls.key": configured(SECURE.replace("key.pem", "CLOSED/file")),
    "domain.state": configured(PLAIN.replace("intrepid.db", "CLOSED/file")),
    "machines.file": configured(f'{PLAIN}\n[machines]\nfile = "CLOSED/file"\n'),
    "events.on_pair_start": configured(f'{PLAIN}\n[events]\non_pair_start = ["CLOSED/file"]\n'),
    "the configuration": lambda folder: read_configuration(folder / "closed" / "file"),
    "a certificate": lambda folder: read_pem(folder / "closed" / "file"),
    "the database": lambda folder: Store.open(folder / "closed" / "file", "a"),
    "a socket": lambda folder: listen_at(folder / "closed" / "sock"),
    "the batch system": lambda folder: common(folder, {"bin": "closed"}, ("Slurm", "file")),
    "client.toml": lambda folder: defaults({"XDG_CONFIG_HOME": str(folder / "closed")}),
    "a script": lambda folder: read_script(str(folder / "closed" / "file")),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_closed_folder_is_named_with_who_may_not_enter_it(public: Path, use: Callable[[Path], object]) -> None:
    refused = (InputError, StoreError, SettingError, ValueError)
    with acting_as("nobody"), pytest.raises(refused) as caught:
        use(public)
    said = re.escape(f"nobody may not enter {public / 'closed'} (mode 0700, of root:root)")
    assert re.search(said, str(caught.value)), str(caught.value)


def test_a_closed_file_is_named_with_its_mode(public: Path) -> None:
    (public / "key.pem").chmod(0o600)
    with acting_as("nobody"), pytest.raises(InputError) as caught:
        configured(SECURE)(public)
    said = f"cannot be read: Permission denied: nobody may not use {public}/key.pem (mode 0600, of root:root)"
    assert str(caught.value).endswith(said)
