"""Several Slurm clusters on one host, which start and stop together."""

from __future__ import annotations

import os
import pwd
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from deploy.lab.keeping import Keeping
from deploy.lab.waiting import LabError
from deploy.slurm.lab.cluster import Cluster, PortTakenError
from deploy.slurm.lab.configuration import Options
from deploy.slurm.lab.ports import Reservations
from deploy.slurm.lab.programs import missing_programs
from deploy.slurm.lab.takedown import TEMPORARY, take_down

_TRIES = 5  # each with other ports, if a process that ignores our reservations was faster
NAMES = ("intrepid", "eureka")


class Lab:
    """Real clusters below `directory` (None: a temporary folder that is removed with them).

    `with Lab(nodes=2) as lab:` starts them and takes them down. They also end whenever this process dies.
    The keywords are those of `Options`; `each` has other options for single clusters, by name. `further_ports` more
    ports are reserved while the laboratory is up: `ports`.
    """

    def __init__(
        self,
        directory: Path | None = None,
        names: Sequence[str] = NAMES,
        each: Mapping[str, Options] | None = None,
        further_ports: int = 0,
        **options: Any,
    ) -> None:
        self.names = tuple(names)
        self.options = {name: (each or {}).get(name) or Options(**options) for name in names}
        self.directory = _folder(directory)
        self.ports: list[int] = []
        self._further_ports = further_ports
        self._clusters: dict[str, Cluster] = {}
        self._keeping: Keeping | None = None

    def __enter__(self) -> Lab:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __getitem__(self, name: str) -> Cluster:
        return self._clusters[name]

    def __iter__(self) -> Iterator[Cluster]:
        return iter(self._clusters.values())

    @property
    def keeping(self) -> Keeping:
        """The keeper, for further processes that end with the laboratory."""
        if self._keeping is None:
            raise LabError("the laboratory is not up")
        return self._keeping

    def start(self) -> None:
        """Start all clusters. LabError with the end of a daemon's log; after it nothing is left running."""
        _check_host()
        try:
            for _ in range(_TRIES - 1):
                with suppress(PortTakenError):
                    return self._try_start()
                self._end()
            return self._try_start()
        except BaseException:
            self.stop()
            raise

    def _try_start(self) -> None:
        reservations = Reservations()
        try:
            ports = {name: reservations.take(1 + self.options[name].nodes) for name in self.names}
            self.ports = reservations.take(self._further_ports)
            self._keeping = Keeping(self.directory, reservations.descriptors())
        finally:
            reservations.close()
        for name in self.names:
            folder = self.directory / name
            self._clusters[name] = Cluster(name, folder, ports[name], self.options[name], self._keeping)
        for cluster in self:
            cluster.start()

    def detach(self) -> None:
        """Keep the clusters running when this process ends; `stop` or `take_down` ends them."""
        self.keeping.detach()

    def stop(self) -> None:
        """End all processes of the laboratory, and remove its folder if it is a temporary one."""
        self._end()
        take_down(self.directory)

    def _end(self) -> None:
        if self._keeping is not None:
            self._keeping.close()
        self._keeping = None


def _check_host() -> None:
    if missing := missing_programs():
        raise LabError(f"Slurm is not installed here: there is no {', '.join(missing)} (Debian: slurm-wlm)")
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:
        raise LabError(f"the user id {os.geteuid()} has no name here, which Slurm needs") from None


def _folder(directory: Path | None) -> Path:
    """Return the real path of an empty folder for us."""
    if directory is None:
        folder = Path(tempfile.mkdtemp(prefix="slurm-lab-")).resolve()
        (folder / TEMPORARY).touch()
        return folder
    folder = directory.resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise LabError(f"{folder}: not empty")
    except OSError as error:
        raise LabError(f"{folder}: {error.strerror}") from None
    return folder
