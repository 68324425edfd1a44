"""A cluster's own small world: host name, addresses, processes, mounts. All ends with the process that made it."""

from __future__ import annotations

import pwd
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from deploy.lab.waiting import wait_for

ADDRESS = "10.99.0.1"  # PBS accepts no loopback address; in each world it is the only host's
STATE = Path("/mnt/pbs")  # in the world: the daemons' files, in memory; PBS wants no folder that others can write to
_BEGIN = """
hostname {name}
ip link set lo up
ip addr add {address}/32 dev lo
ip route change local {address} dev lo table local proto kernel scope host src {address} quickack 1  # as at a site
mount --bind {hosts} /etc/hosts
mount -t tmpfs -o mode=755 pbs /mnt
if [ -d /run/postgresql ]; then mount -t tmpfs -o mode=1777 sockets /run/postgresql; fi  # of the database
for file in .bash_profile .bash_login .profile; do
    if [ -e {home}/$file ]; then mount --bind /dev/null {home}/$file; fi  # jobs' shells are login shells
done
mkdir {state}
trap '' CHLD  # the kernel buries orphans
touch {ready}
exec sleep infinity
"""


class Namespace:
    """`folder` is seen inside and outside."""

    def __init__(self, name: str, folder: Path) -> None:
        hosts, ready = folder / "hosts", folder / "ready"
        hosts.write_text(f"127.0.0.1 localhost\n{ADDRESS} {name}\n")
        home = shlex.quote(pwd.getpwuid(0).pw_dir)
        script = _BEGIN.format(name=name, address=ADDRESS, hosts=hosts, state=STATE, ready=ready, home=home)
        world = ("unshare", "--net", "--uts", "--ipc", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc")
        self._holder = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *world, "/bin/sh", "-ec", script])
        wait_for(ready.exists, f"the namespaces of {name}")
        children = Path(f"/proc/{self._holder.pid}/task/{self._holder.pid}/children")
        self.init = int(children.read_text().split()[0])

    def enter(self, command: Sequence[str]) -> list[str]:
        """Return the command that runs this one inside, in the folder that is current outside."""
        inside = ("nsenter", "-t", str(self.init), "--net", "--uts", "--ipc", "--pid", "--mount", "--")
        return [*inside, "/bin/sh", "-c", 'cd "$0" && exec "$@"', str(Path.cwd()), *command]

    def run(self, *command: str, environment: Mapping[str, str], text: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command inside."""
        argv = self.enter(command)
        return subprocess.run(argv, input=text, capture_output=True, text=True, env=dict(environment), check=False)

    def path(self, inside: Path) -> Path:
        """Return a path of the inside as it is seen from outside."""
        return Path(f"/proc/{self.init}/root") / inside.relative_to("/")

    def end(self) -> None:
        """Kill all that runs inside."""
        self._holder.kill()
        self._holder.wait()
