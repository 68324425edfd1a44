"""kill -9 of a service or of pbs_server in each state of a pair: nothing is lost, no node is left offline."""

from __future__ import annotations

import pytest

from deploy.lab.coupled import Pbs
from deploy.lab.waiting import wait_for
from tests.live.coupled import known
from tests.live.coupled_labs import Coupled
from tests.live.workloads import Work
from tests.pbs.laboratory import laboratory

pytestmark = pytest.mark.soak

SETTINGS = {"release_interval": 0, "max_held_fraction": 1, "max_yields": 0, "try_patience": 2, "poll_interval": 1}
PAIR = Work("p", 2, 1)


running, coupled = laboratory(("pbs", "pbs"), **SETTINGS)


def offered(coupled: Coupled) -> list[list[str]]:
    """A job waits with nodes that the hook alone keeps."""
    job = coupled.submit(coupled.here, PAIR)
    wait_for(lambda: job in known(coupled.here), "the job to be known")
    return [[job], []]


def held(coupled: Coupled) -> list[list[str]]:
    """A job's nodes are offline."""
    ids = offered(coupled)
    wait_for(lambda: len(pbs(coupled).cluster.holders()) == PAIR.nodes, "its nodes to be held")
    return ids


def asked(coupled: Coupled) -> list[list[str]]:
    """The mate of a job that holds is submitted, and asks."""
    ids = held(coupled)
    ids[1] = [coupled.submit(coupled.there, PAIR)]
    return ids


def started(coupled: Coupled) -> list[list[str]]:
    """Both jobs run."""
    ids = asked(coupled)
    coupled.until_state(coupled.here, ids[0][0], "running", "completed")
    return ids


def ending(coupled: Coupled) -> list[list[str]]:
    """The jobs are about to end."""
    ids = started(coupled)
    wait_for(lambda: ids[0][0] not in pbs(coupled).queued(), "the job's end", interval=0.05)
    return ids


def kill_service(coupled: Coupled) -> None:
    coupled.here.service.kill()
    coupled.here.service.start()


def kill_server(coupled: Coupled) -> None:
    pbs(coupled).cluster.kill_server()
    pbs(coupled).cluster.start_server()


def pbs(coupled: Coupled) -> Pbs:
    assert isinstance(coupled.here, Pbs)
    return coupled.here


@pytest.mark.parametrize("kill", [kill_service, kill_server])
@pytest.mark.parametrize("state", [offered, held, asked, started, ending])
def test_a_pair_survives(coupled: Coupled, state, kill) -> None:  # type: ignore[no-untyped-def]
    ids = state(coupled)
    kill(coupled)
    ids[1] = ids[1] or [coupled.submit(coupled.there, PAIR)]
    coupled.check_started_together(*ids)


def test_doctor_shows_nodes_that_are_held_for_nobody_and_its_commands_free_them(coupled: Coupled) -> None:
    domain = pbs(coupled)
    (job,) = held(coupled)[0]
    domain.service.kill()
    domain.cluster.run("qdel", job)
    nodes = sorted(domain.cluster.holders())
    config = str(domain.folder / "cosched.toml")
    said = domain.service.try_run("doctor", "--config", config)
    assert said.returncode == 2
    assert f"{', '.join(nodes)} offline for jobs that do not wait" in " ".join(said.stdout.split())
    for line in said.stdout.splitlines():
        if line.strip().startswith("qmgr -c '") and any(node in line for node in nodes):
            domain.cluster.qmgr(line.strip().removeprefix("qmgr -c '").removesuffix("'"))
    assert domain.left() == ""
    domain.service.start()


def test_the_next_service_frees_nodes_that_are_held_for_nobody(coupled: Coupled) -> None:
    domain = pbs(coupled)
    (job,) = held(coupled)[0]
    domain.service.kill()
    domain.cluster.run("qdel", job)
    domain.service.start()
