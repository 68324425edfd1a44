"""For applications: a job of Slurm gives up nodes that it does not need any more.

    job = SlurmJob()
    run(["srun", "simulate"], env=job.environment)  # on all of its nodes
    job.keep(2)  # others can have the rest
    run(["srun", "analyse"], env=job.environment)

Slurm lets a job's owner and operators change its size, and nobody else, so no service takes part. The change is one
command, and Slurm remembers it: a new SlurmJob knows what the job has. No job gets nodes back (docs/slurm.md, Malleable
jobs).
"""

from __future__ import annotations

import os
import re
import subprocess
import time

from cosched.client.errors import ClientError, Unreachable

TIMEOUT = 60.0  # seconds that a command of Slurm may take
SETTLING, LOOK = 2.0, 0.1  # seconds: until a step that is still shown runs indeed, and between two looks at it
_OUTDATED = ("SLURM_NPROCS", "SLURM_NTASKS", "SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE")
_INSIDE = ("SLURM_JOB_ID", "SLURM_JOBID")  # by these scontrol knows that it is in the job, and leaves files there
_NO_ANSWER = re.compile("Unable to contact|timed out|Zero Bytes|Connection (refused|reset)|standby|Unexpected message")
_ONLY_ONCE = re.compile("DB index")


class SlurmJob:
    """A running job. Not for several threads. `nodes`: their names; its script runs on the first."""

    def __init__(self, job: str | None = None, *, timeout: float = TIMEOUT) -> None:
        """By default it is the job of this process. ValueError outside of any job; ClientError if it does not run."""
        job = job or os.environ.get("SLURM_JOB_ID", "")
        if not job.isdecimal():
            raise ValueError("not inside a job of Slurm: SLURM_JOB_ID is not set")
        self.id, self._timeout = job, timeout
        self.nodes = self._present()

    def keep(self, count: int) -> tuple[str, ...]:
        """Keep the first so many nodes; return the others, which are other jobs' from now on.

        ValueError: it has fewer, or would have none. ClientError: it keeps what it has, since a step runs on a node
        that it would give up (NODES_IN_USE), or Slurm refuses (REFUSED). Unreachable: Slurm does not answer; try again.
        """
        self.nodes = self._present()
        if not 1 <= count <= len(self.nodes):
            raise ValueError(f"job {self.id} has {len(self.nodes)} nodes: it cannot keep {count}")
        kept, given = self.nodes[:count], self.nodes[count:]
        if given:
            self._check_unused(given)
            self._run("scontrol", "update", f"JobId={self.id}", f"NodeList={','.join(kept)}")
        self.nodes = kept
        return given

    @property
    def environment(self) -> dict[str, str]:
        """The environment of this process, for srun on `nodes`: without numbers of tasks if the job had more nodes."""
        count = str(len(self.nodes))
        if os.environ.get("SLURM_JOB_NUM_NODES") == count:
            return dict(os.environ)
        names = ",".join(self.nodes)
        present = {"SLURM_JOB_NODELIST": names, "SLURM_NODELIST": names}
        present |= {"SLURM_JOB_NUM_NODES": count, "SLURM_NNODES": count}
        return {name: value for name, value in os.environ.items() if name not in _OUTDATED} | present

    def _present(self) -> tuple[str, ...]:
        """Return the nodes that Slurm says, the host of its script first: Slurm never takes that away."""
        state, _, rest = self._run("squeue", "-h", "-a", "-t", "all", "-j", self.id, "-o", "%T|%B|%N").partition("|")
        host, _, listed = rest.strip().partition("|")
        if state != "RUNNING" or not listed:
            raise ClientError("JOB_STATE", f"job {self.id} does not run: Slurm says {state or 'nothing'}")
        return tuple(sorted(self._expanded(listed), key=lambda name: name != host))

    def _check_unused(self, given: tuple[str, ...]) -> None:
        """Slurm would kill the tasks there. It may show a step for a moment after its srun has ended."""
        patience_over = time.monotonic() + SETTLING
        while said := self._in_use(given):
            if time.monotonic() >= patience_over:
                raise ClientError("NODES_IN_USE", said)
            time.sleep(LOOK)

    def _in_use(self, given: tuple[str, ...]) -> str:
        """Say which step runs on one of these nodes; empty if there is none."""
        for step in self._run("squeue", "-h", "-a", "-s", "-j", self.id, "-o", "%i|%N").splitlines():
            name, _, listed = step.strip().partition("|")
            if not name.endswith(".extern") and (busy := set(self._expanded(listed)) & set(given)):
                return f"step {name} still runs on {min(busy)}: wait for its end before job {self.id} gives it up"
        return ""

    def _expanded(self, listed: str) -> list[str]:
        return self._run("scontrol", "show", "hostnames", listed).split()

    def _run(self, *command: str) -> str:
        environment = {name: value for name, value in os.environ.items() if name not in _INSIDE}
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=self._timeout, env=environment, check=False
            )
        except OSError as error:
            raise ClientError("NO_SLURM", f"{command[0]} cannot be run: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise Unreachable("NO_ANSWER", f"{command[0]} has not ended within {self._timeout:g} s") from None
        if done.returncode == 0:
            return done.stdout
        said = next(iter(done.stderr.strip().splitlines()), f"exit {done.returncode}")
        if _NO_ANSWER.search(said):
            raise Unreachable("NO_ANSWER", f"{command[0]}: {said}")
        if _ONLY_ONCE.search(said):
            said += ". Without slurmdbd, Slurm up to 24.05 changes the size of a job only once"
        raise ClientError("REFUSED", f"{command[0]}: {said}")
