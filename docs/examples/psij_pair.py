"""Submits a job of a pair to Slurm with psij-python: `psij_pair.py PAIR PROGRAM [ARGUMENT...]`."""

from __future__ import annotations

import sys
from datetime import timedelta

from psij import Job, JobAttributes, JobExecutor, JobSpec, ResourceSpecV1


def submit(pair: str, program: str, *arguments: str) -> Job:
    """Submit one node for at most ten minutes; the job of the same pair on the other cluster starts with it."""
    job = Job(
        JobSpec(
            executable=program,
            arguments=list(arguments),
            resources=ResourceSpecV1(node_count=1, process_count=1),
            attributes=JobAttributes(
                duration=timedelta(minutes=10), custom_attributes={"slurm.comment": f"cosched:pair={pair}"}
            ),
        )
    )
    JobExecutor.get_instance("slurm").submit(job)
    return job


if __name__ == "__main__":
    submitted = submit(*sys.argv[1:])
    print(submitted.native_id, flush=True)
    submitted.wait()
    print(submitted.status.state.name)
