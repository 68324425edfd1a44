"""A PrologSlurmctld that waits to be told, a jobcomp script that notes: what shows how Slurm treats its hooks."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from deploy.lab.processes import look
from deploy.slurm.lab import Cluster, Lab

# Told by a file named after the job: `go` starts it, `no` gives its turn up. The environment is one line each, sorted,
# as a file that appears whole.
_PROLOG = """#!/bin/sh
/usr/bin/env -u PWD > {folder}/env.$SLURM_JOB_ID.$$
echo "uid=$(/usr/bin/id -u)" >> {folder}/env.$SLURM_JOB_ID.$$
/bin/mv {folder}/env.$SLURM_JOB_ID.$$ {folder}/environment.$SLURM_JOB_ID
echo $$ >> {folder}/calls.$SLURM_JOB_ID
while :; do
    [ -e {folder}/go.$SLURM_JOB_ID ] && /bin/rm {folder}/go.$SLURM_JOB_ID && exit 0
    [ -e {folder}/no.$SLURM_JOB_ID ] && /bin/rm {folder}/no.$SLURM_JOB_ID && exit 1
    /bin/sleep 0.1
done
"""

# Waits for the instant in the file `at`, if there is one for the job: nanoseconds since 1970.
_TASK_PROLOG = """#!/bin/sh
echo "uid=$(id -u) step=${{SLURM_STEP_ID-batch}} context=$SLURM_SCRIPT_CONTEXT" >> {folder}/task.$SLURM_JOB_ID
[ -e {folder}/at.$SLURM_JOB_ID ] || exit 0
left=$(( $(cat {folder}/at.$SLURM_JOB_ID) - $(date +%s%N) ))
[ $left -le 0 ] || sleep $(printf '%d.%09d' $((left / 1000000000)) $((left % 1000000000)))
"""

_JOBCOMP = """#!/bin/sh
echo "$JOBID $JOBSTATE $EXITCODE" >> {folder}/completions
"""

_JOB_SUBMIT = """
function slurm_job_submit(job, partitions, uid)
    if job.comment == "refuse" then
        slurm.log_user("this comment is refused")
        return slurm.ERROR
    end
    return slurm.SUCCESS
end
function slurm_job_modify(job, record, partitions, uid)
    return slurm.SUCCESS
end
"""


class Hooks:
    """The hooks in `folder` (readable by every user), for one cluster."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.chmod(0o777)
        self.prolog = self._write("prolog", _PROLOG)
        self.task_prolog = self._write("task_prolog", _TASK_PROLOG)
        self.jobcomp = self._write("jobcomp", _JOBCOMP)
        self.job_submit = folder / "job_submit.lua"
        self.job_submit.write_text(_JOB_SUBMIT)

    def _write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text.format(folder=self.folder))
        path.chmod(0o755)
        return path

    def lab(self, **options: Any) -> Lab:
        """A laboratory of one cluster with these hooks, not yet started."""
        return Lab(
            names=("intrepid",),
            prolog=self.prolog,
            task_prolog=self.task_prolog,
            jobcomp=self.jobcomp,
            job_submit=self.job_submit,
            **options,
        )

    def say(self, word: str, job: int, text: str = "") -> None:
        """Tell the job's hook: go, no, at."""
        aside = self.folder / f"{word}.{job}.new"
        aside.write_text(text)
        aside.rename(self.folder / f"{word}.{job}")

    def calls(self, job: int) -> list[int]:
        """The process ids of the calls of the job's prolog."""
        return [int(pid) for pid in self._text(f"calls.{job}").split()]

    def environment(self, job: int) -> dict[str, str]:
        """The environment of the last of them, and its user (`uid`)."""
        return dict(line.partition("=")[::2] for line in self._text(f"environment.{job}").splitlines())

    def tasks(self, job: int) -> str:
        """What the task prologs of the job have noted."""
        return self._text(f"task.{job}")

    def completions(self, job: int) -> list[str]:
        """What the completion script was called with, for the job: state and exit code."""
        words = (line.partition(" ") for line in self._text("completions").splitlines())
        return [rest for number, _, rest in words if number == str(job)]

    def _text(self, name: str) -> str:
        path = self.folder / name
        return path.read_text() if path.exists() else ""


class Held:
    """A job whose prolog has been called and waits."""

    def __init__(self, cluster: Cluster, hooks: Hooks, script: str, *options: str) -> None:
        self.cluster = cluster
        self.hooks = hooks
        self.id = cluster.sbatch(script, *options)
        self.wait_for_call(1)

    def wait_for_call(self, number: int) -> int:
        """The process id of this call of the prolog, counted from 1."""
        self.wait_for(lambda: len(self.hooks.calls(self.id)) >= number, f"call {number} of the prolog")
        return self.hooks.calls(self.id)[number - 1]

    def wait_for(self, condition: Callable[[], object], what: str) -> None:
        """Until something about this job is true."""
        self.cluster.wait_for(condition, f"job {self.id}: {what}")

    def wait_for_state(self, *states: str) -> dict[str, str]:
        """The fields of the job once it is in one of these states."""
        self.cluster.wait_for_state(self.id, *states)
        return self.fields

    @property
    def fields(self) -> dict[str, str]:
        """What `scontrol show job` says of it."""
        return self.cluster.job(self.id)

    def say(self, word: str, text: str = "") -> None:
        """Tell its prolog."""
        self.hooks.say(word, self.id, text)

    def output(self) -> str:
        """What it has printed."""
        return (self.cluster.jobs / f"slurm-{self.id}.out").read_text()


def alive(pid: int) -> bool:
    """Whether a process with this id runs."""
    return look(pid) is not None
