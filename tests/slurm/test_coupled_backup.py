"""A backup controller of Slurm takes over, and the service on its host follows: nobody starts alone because of it.

Both hosts are this one: the backup controller and the service beside it have another name for it.
"""

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from deploy.lab.service import cosched
from deploy.slurm.lab import CoupledLab, wait_for
from deploy.slurm.lab.programs import find
from tests.live.coupled import PATIENCE, story
from tests.live.other_users import needs_root
from tests.live.workloads import Work
from tests.slurm.cosched_hooks import check_for_compiler
from tests.slurm.coupled_checks import START, Served, reservations_of
from tests.slurm.test_coupled_slots import LIMIT, fill

pytestmark = [pytest.mark.soak, needs_root]
BACKUP = "standby"
NODES = 4
PAIR, LONG = Work("p", 2, 0.5), Work("p", 2, 20)
UNHURRIED = {"on_peer_unreachable": "hold", "peer_grace": 600}  # as a site has it that wants no job to start alone
HOSTS = (f"SlurmctldHost={socket.gethostname()}(127.0.0.1)", f"SlurmctldHost={BACKUP}(127.0.0.2)")


class WithBackup:
    """The first domain has a backup controller, and a service that stands by on its host."""

    def __init__(self, coupled: Served) -> None:
        self.coupled, self.domain = coupled, coupled.here
        self._log = self.domain.cluster.directory / "standby.log"
        self._pids: list[int] = []

    def begin(self) -> None:
        cluster, environment = self.domain.cluster, self.domain.service.environment
        conf = cluster.conf.with_name("standby.conf")
        conf.write_text(cluster.conf.read_text().replace("slurmctld.pid", "standby.pid"))  # it would kill the other one
        controller = f"{find('slurmctld')} -D -f {conf}"
        service = f"{cosched()} serve --config {cluster.directory}/cosched.toml"
        self._pids = [self._spawn(command, environment) for command in (controller, service)]
        self.coupled.until(
            lambda: f"stands by: slurmctld runs on {socket.gethostname()}" in self.said(), "a service to stand by"
        )
        ping = lambda: cluster.try_run("scontrol", "ping").stdout.count(" is UP") == len(HOSTS)  # noqa: E731
        self.coupled.until(ping, "the backup controller")

    def said(self) -> str:
        return self._log.read_text() if self._log.exists() else ""

    def _spawn(self, command: str, environment: dict[str, str]) -> int:
        hosts = self.domain.cluster.directory / "hosts"
        hosts.write_text(f"127.0.0.1 localhost\n127.0.0.2 {BACKUP}\n192.0.2.1 {socket.gethostname()}\n")
        other = f"mount --bind {hosts} /etc/hosts && hostname {BACKUP} && exec {command}"
        named = ["unshare", "--uts", "--mount", "sh", "-c", other]
        return self.coupled.lab.lab.keeping.spawn(named, environment, self._log)

    def take_over(self) -> None:
        """The first controller is killed; the other one takes over, and so does the service beside it."""
        cluster = self.domain.cluster
        cluster.kill_controller()
        cluster.run("scontrol", "takeover")
        service, keeping = self.domain.service, self.coupled.lab.lab.keeping
        wait_for(
            lambda: keeping.exit_code(service.pid) is not None, "the first service to end", PATIENCE, [service.log]
        )
        assert service.kill() == 1, "so that it is started again, and stands by"
        assert "slurmctld runs on standby: this service ends" in service.log.read_text()
        self.coupled.until(lambda: "serving intrepid on" in self.said(), "the service beside it to serve")

    def end(self) -> None:
        for pid in self._pids:
            self.coupled.lab.lab.keeping.end(pid, signal.SIGTERM)


@contextmanager
def with_backup(*schemes: str, **settings: object) -> Iterator[WithBackup]:
    check_for_compiler()
    options = {"nodes": NODES, "lines": HOSTS}
    with CoupledLab(options=options, services=False, patience=300, schemes=("hold", "hold"), **START) as lab:
        coupled = Served(lab)
        coupled.serve((schemes[0], schemes[1]), **UNHURRIED | settings)
        found = WithBackup(coupled)
        found.begin()
        yield found
        found.end()


Ids = tuple[str, str | None]  # of the pair's jobs; None: the second one is submitted after the take-over


def submitted(coupled: Served) -> Ids:
    """It waits for nodes, and its mate is not submitted."""
    fill(coupled.here, NODES)
    ours = coupled.submit(coupled.here, PAIR)
    coupled.until_state(coupled.here, ours, "queued")
    return saved(coupled, ours), None


def queued(coupled: Served) -> Ids:
    """It waits for nodes, and its mate holds."""
    ours, _ = submitted(coupled)
    theirs = coupled.submit(coupled.there, PAIR)
    coupled.until_state(coupled.there, theirs, "holding")
    return ours, theirs


def held(coupled: Served) -> Ids:
    """It holds its nodes."""
    ours = coupled.submit(coupled.here, PAIR)
    coupled.until_state(coupled.here, ours, "holding")
    return saved(coupled, ours), None


def asked(coupled: Served) -> Ids:
    """Its mate has just been submitted, and asks."""
    ours, _ = held(coupled)
    return ours, coupled.submit(coupled.there, PAIR)


def agreed(coupled: Served) -> Ids:
    """A job of the pair starts."""
    ours, theirs = asked(coupled)
    assert theirs is not None
    coupled.until(lambda: story(coupled.here, ours, kinds=["started"]), "the start")
    return ours, theirs


def running(coupled: Served) -> Ids:
    """Both run."""
    ours = coupled.submit(coupled.here, LONG)
    theirs = coupled.submit(coupled.there, LONG)
    for domain, job in ((coupled.here, ours), (coupled.there, theirs)):
        coupled.until_state(domain, job, "running")
    return saved(coupled, ours), theirs


def ended(coupled: Served) -> Ids:
    """Both have ended, and Slurm has saved that, as it does with any change some seconds later: else they run again."""
    ours, theirs = agreed(coupled)
    assert theirs is not None
    coupled.until(lambda: ours not in coupled.unended(coupled.here), "its end")
    saved(coupled, coupled.submit(coupled.here, Work(None, 1, 0.1), "--hold"))
    return ours, theirs


def given_back(coupled: Served) -> Ids:
    """It has yielded, and is not offered again yet."""
    ours = coupled.submit(coupled.here, PAIR)
    coupled.until_job(coupled.here, ours, lambda job: job.holds.yields > 0 and job.state == "queued", "has yielded")
    return saved(coupled, ours), None


def released(coupled: Served) -> Ids:
    """Its hold has been ended by force."""
    ours = coupled.submit(coupled.here, PAIR)
    coupled.until(lambda: story(coupled.here, ours, kinds=["released"]), "its release")
    return ours, None


def booked(coupled: Served) -> Ids:
    """Both have the same slot, once the job that is in the way of one of them comes to its limit."""
    theirs = coupled.submit(coupled.there, PAIR, LIMIT)
    coupled.until_job(coupled.there, theirs, lambda job: job.holds.yields > 0, "has yielded")
    fill(coupled.there, NODES - 1)
    ours = coupled.submit(coupled.here, PAIR, LIMIT)
    for domain, job in ((coupled.here, ours), (coupled.there, theirs)):
        coupled.until_job(domain, job, lambda job: job.slot is not None, "has a slot")
        coupled.until(lambda domain=domain: len(reservations_of(domain)) == 1, "its reservation, and no other one")
    return saved(coupled, ours), theirs


def saved(coupled: Served, job: str) -> str:
    coupled.here.cluster.wait_until_saved(int(job))
    return job


@pytest.mark.parametrize(
    ("phase", "schemes", "settings"),
    [
        *((phase, ("hold", "hold"), {}) for phase in (submitted, queued, held, asked, agreed, running, ended)),
        (given_back, ("yield", "hold"), {"backoff": 20}),
        (released, ("hold", "hold"), {"release_interval": 2}),
        (booked, ("meet", "meet"), {"backoff": 30}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_pair_starts_together_and_once_whenever_the_backup_takes_over(
    phase: Callable[[Served], Ids], schemes: tuple[str, str], settings: dict[str, object]
) -> None:
    with with_backup(*schemes, **settings) as backup:
        coupled = backup.coupled
        ours, theirs = phase(coupled)
        backup.take_over()
        theirs = theirs or coupled.submit(coupled.there, PAIR)
        if others := set(coupled.here.cluster.squeue("-h", "--format=%i").split()) - {ours}:
            coupled.here.cluster.scancel(*others)
        check_ran_together(coupled, ours, theirs)
        coupled.until(lambda: not any(map(reservations_of, coupled.domains)), "no reservation")


def check_ran_together(coupled: Served, ours: str, theirs: str) -> None:
    """Each has run once, with the other.

    Slurm saves a start some seconds later. If it is killed before, it holds a job that it finds running, and the site
    decides.
    """
    cluster = coupled.here.cluster

    def is_held() -> bool:
        return "launch failed" in cluster.squeue("-h", "--format=%r")

    coupled.until(lambda: is_held() or ours not in coupled.unended(coupled.here), f"the end of {ours}")
    if held_by_slurm := is_held():
        cluster.scancel(ours)
    found = coupled.outcome([ours], [theirs])
    assert found.states == ({"completed": 1, "cancelled": 1} if held_by_slurm else {"completed": 2})
    assert found.runs == {(coupled.here.name, ours): 1, (coupled.there.name, theirs): 1}
    assert found.alone() == {}
