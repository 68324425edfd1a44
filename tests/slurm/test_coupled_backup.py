"""A backup controller of Slurm takes over, and the service on its host follows: nobody starts alone because of it.

Both hosts are this one: the backup controller and the service beside it have another name for it.
"""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator

import pytest

from deploy.lab.service import cosched
from deploy.slurm.lab import CoupledLab, wait_for
from deploy.slurm.lab.programs import find
from tests.live.coupled import PATIENCE
from tests.live.other_users import needs_root
from tests.live.workloads import Work
from tests.slurm.cosched_hooks import check_for_compiler
from tests.slurm.coupled_checks import START, Served

pytestmark = [pytest.mark.soak, needs_root]
BACKUP = "standby"
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


@pytest.fixture
def backup() -> Iterator[WithBackup]:
    check_for_compiler()
    options = {"nodes": 4, "lines": HOSTS}
    with CoupledLab(options=options, services=False, patience=300, schemes=("hold", "hold"), **START) as lab:
        coupled = Served(lab)
        coupled.serve(("hold", "hold"))
        found = WithBackup(coupled)
        found.begin()
        yield found
        found.end()


def test_held_and_queued_jobs_keep_their_mates_over_a_take_over(backup: WithBackup) -> None:
    coupled, here, there = backup.coupled, backup.coupled.here, backup.coupled.there
    held, busy = coupled.submit(here, Work("a", 2, 0.1)), coupled.submit(here, Work(None, 2, 5.0))
    coupled.until_state(here, held, "holding")
    queued = coupled.submit(here, Work("b", 2, 0.1))
    mate = coupled.submit(there, Work("b", 2, 0.1))
    coupled.until_state(there, mate, "holding")
    here.cluster.wait_until_saved(int(queued))
    backup.take_over()
    other = coupled.submit(there, Work("a", 2, 0.1))
    coupled.check_started_together([held, queued], [other, mate])
    assert busy
