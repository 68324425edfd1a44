"""Two accounts, no administrator: a user's own services, coupled by ssh, beside local processes."""

import getpass
from pathlib import Path

import pytest

from cosched.cli.own_service import OwnService
from tests.live.own import ADMITS, SITE, Account, Sshd, serving
from tests.waiting import wait_until


@pytest.fixture
def accounts(short_path):
    """The accounts here and there, and the sshd that leads from one to the other."""
    there = Account(short_path / "there", COSCHED_PEERS=str(short_path / "there" / "peers"))
    sshd = Sshd(short_path / "sshd", there)
    here = Account(short_path / "here", COSCHED_SSH=f"ssh -F {sshd.client}")
    yield here, there, sshd
    for account in (here, there):
        account.run("down")
    sshd.stop()


def started(folder: Path, name: str) -> int:
    notes = folder / "notes"
    return notes.read_text().split().count(name) if notes.exists() else 0


def submit_pair(here: Account, there: Account, name: str, notes: Path) -> None:
    script = f"#!/bin/sh\necho {name} >> {notes / 'notes'}\n"
    for account in (here, there):
        account("submit", "--pair", name, "-", text=script)
    wait_until(lambda: started(notes, name) == 2, f"{name} starts on both sides:\n{here.log}\n{there.log}")


def test_two_accounts_become_a_pair_by_one_login(accounts, short_path):
    here, there, sshd = accounts
    assert "intrepid serves: " in here("up", "--name", "intrepid", "--manager", "local")
    assert "serves already" in here("up")
    there("up", "--name", "eureka", "--manager", "local", "--scheme", "yield")
    refused = here.run("peer", "add", "mira", "login.eureka").stderr
    assert refused == "cosched: NAME: the service at login.eureka is eureka: cosched peer add it by that name\n"
    assert "intrepid and eureka are coupled" in here("peer", "add", "eureka", "login.eureka")
    assert here.state.stat().st_mode & 0o777 == 0o700
    submit_pair(here, there, "run1", short_path)

    sshd.cut()  # the connection comes back
    submit_pair(here, there, "run2", short_path)

    for account in (here, there):  # and so do services that were killed, with the next command
        account.kill()
    submit_pair(here, there, "run3", short_path)

    for name in ("sim", "vis"):
        (here.folder / f"{name}.sh").write_text(f"#!/bin/sh\necho run4 >> {short_path / 'notes'}\n")
    both = ("submit", "--to", "intrepid:sim.sh", "--to", "eureka:vis.sh")
    assert here(*both, "--pair", "run4") == "Submitted job 4 to intrepid\nSubmitted job 4 to eureka\n"
    wait_until(lambda: started(short_path, "run4") == 2, "run4 starts on both sides")
    mistyped = here.run("submit", "--to", "intrepid:sim.sh", "--to", "eurekaa:vis.sh", "--pair", "run5")
    assert mistyped.stderr == (
        "cosched: --to: eurekaa is not known here; did you mean eureka? (known: eureka, intrepid): "
        "cosched peer add couples a domain\n"
    )
    only_there = "no command reaches it from here: call this one there"
    assert here.run("wait", "run4").stderr == f"cosched: eureka: {only_there}, by ssh login.eureka\n"
    assert there.run("wait", "run4").stderr == f"cosched: intrepid: {only_there}\n"
    refused = here.run(*both, "--pair", "run4", "-N", "2")
    assert "put what else a job asks for into its script" in refused.stderr
    (here.folder / "sim.sh").write_text("#!/bin/sh\n#COSCHED --nodes=99\n")
    assert here.run(*both, "--pair", "run5").stderr.endswith("; nothing is submitted\n")
    assert there("queue").count("\n") == 1
    assert there("down") == "eureka has ended\n"
    assert "does not answer" in here.run("doctor", "--this-end").stdout  # it has called there, by the connection
    assert there.process is None
    sshd.cut()
    wait_until(lambda: "was ended by cosched down: cosched up there" in here.log, f"it stays so:\n{here.log}")
    assert there.process is None
    assert here("down") == "intrepid has ended\n"


def test_what_prevents_a_login_is_said_in_one_line(accounts):
    here, there, sshd = accounts
    assert here.run("down").stderr == "cosched: you have no service of your own here: cosched up makes one\n"
    assert here.run("peer", "add", "eureka", "x").stderr.startswith("cosched: you have no service of your own here yet")
    here("up", "--name", "intrepid", "--manager", "local")
    assert "is there already: change it there" in here.run("up", "--name", "mira").stderr
    assert "is there already: change it there" in here.run("up", "--scheme", "yield").stderr
    there("up", "--name", "intrepid", "--manager", "local")
    same = here.run("peer", "add", "eureka", "login.eureka").stderr
    assert "both services are named intrepid" in same
    key = sshd.client.with_name("user")
    key.rename(key.with_suffix(".away"))
    refused = here.run("peer", "add", "eureka", "login.eureka")
    assert refused.returncode == 3
    assert "Permission denied" in refused.stderr
    assert "set up a key without a prompt" in refused.stderr
    assert refused.stderr.count("\n") == 1


@pytest.mark.soak  # 20 s are waited for
def test_a_service_without_jobs_ends_by_itself_and_the_next_command_starts_it(short_path):
    here = Account(short_path / "here")
    own = OwnService(here.state)
    here("up", "--name", "intrepid", "--manager", "local")
    here("down")
    own.config.write_text(own.config.read_text().replace('idle_end = "1h"', "idle_end = 20"))
    try:
        here("submit", "-", text=f"#!/bin/sh\nsleep 3; echo job >> {short_path}/notes\n")
        wait_until(lambda: own.process() is None, f"it ends:\n{here.log}")
        assert started(short_path, "job") == 1
        assert "no jobs for 20 s: the next command starts this service again" in here.log
        again = here.run("show", "1")
        assert "completed" in again.stdout
        assert again.stderr == ""
    finally:
        here.run("down")


@pytest.fixture
def site(accounts, short_path):
    """An administrators' service there, which is not started yet; its configuration, and the user's door to it."""
    _, there, _ = accounts
    user = getpass.getuser()
    door = there.folder / "peers" / "eureka" / user
    config = short_path / "site" / "eureka.toml"
    config.parent.mkdir()
    config.write_text(SITE + ADMITS.format(door=door, user=user))
    return config, door


@pytest.mark.soak
def test_an_administrators_service_can_be_the_other_side(accounts, site, short_path):
    here, there, sshd = accounts
    config, door = site
    door.mkdir(parents=True)
    with serving(config) as log:
        here("up", "--name", "ann-intrepid", "--manager", "local")
        assert "ann-intrepid and eureka are coupled" in here("peer", "add", "eureka", "login.eureka")
        script = f"#!/bin/sh\necho run1 >> {short_path / 'notes'}\n"
        here("submit", "--pair", "run1", "-", text=script)
        wait_until(lambda: here.states() == ["HO"], "it waits for its mate there")
        there.own["COSCHED_SERVER"] = f"unix:{config.with_suffix('.sock')}"
        there("submit", "--pair", "run1", "-", text=script)
        wait_until(lambda: started(short_path, "run1") == 2, f"both start:\n{here.log}\n{log.read_text()}")
    sshd.cut()
    wait_until(lambda: "the administrators' service eureka is down" in here.log, f"it is tried again:\n{here.log}")
    with serving(config):
        wait_until(lambda: "reachable" in here("domains"), f"it is back:\n{here.log}")
    assert not there.state.exists()  # no service of the user's own has taken its place


@pytest.mark.soak
def test_an_administrators_service_that_lets_nobody_in_says_so_in_one_line(accounts, site):
    here, there, _ = accounts
    config, door = site
    here("up", "--name", "intrepid", "--manager", "local")
    door.parent.mkdir(parents=True)
    why = f"does not admit {getpass.getuser()}: ask its administrators"
    for _ in range(2):
        refused = here.run("peer", "add", "eureka", "login.eureka")
        assert refused.returncode == 3
        assert refused.stderr == f"cosched: login.eureka: the administrators' service eureka {why}\n"
        door.mkdir(exist_ok=True)
        why = "is down, or does not know intrepid: ask its administrators"
    with serving(config):
        refused = here.run("peer", "add", "eureka", "login.eureka")
        assert "admits your service as ann-intrepid, not as intrepid: set that name in service.toml" in refused.stderr
    assert not there.state.exists()
