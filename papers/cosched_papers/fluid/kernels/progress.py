"""How much work a job has left, when it ends, and what a change of its size costs."""

from __future__ import annotations

from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.compiled import kernel, shared_kernel
from cosched_papers.fluid.kernels.speeds import parabolic
from cosched_papers.fluid.kernels.state import RUNNING, Fluid

BYTES, SECONDS = 100_000, 9  # moving so many bytes takes so many seconds


@kernel
def speed(f: Fluid, row: int, procs: int) -> int:
    """The work that a job does in a second on so many processors."""
    job = f.jobs[row]
    if job.told == 1:
        return f.speeds[job.curve + procs]
    return parabolic(job.ideal, procs) if job.parabolic == 1 else procs


@kernel
def _ceil(amount: int, by: int) -> int:
    return (amount + by - 1) // by


@kernel
def left_at(f: Fluid, row: int, now: int) -> int:
    """The work that is left at `now`."""
    job = f.jobs[row]
    return job.left - speed(f, row, job.procs) * max(0, now - max(job.since, job.resume))


@kernel
def resume_after(f: Fluid, row: int, now: int) -> int:
    """When a job works again if it is resized now. At the instant of its start that costs nothing."""
    job = f.jobs[row]
    if job.start == now:
        return job.resume
    if job.told == 1:
        return max(job.resume, now) + f.costs[job.curve + job.procs]
    return max(job.resume, now) + job.fixed + _ceil(SECONDS * job.data, BYTES * job.procs)


@kernel
def end_on(f: Fluid, row: int, procs: int, now: int) -> int:
    """When a running job is expected to end if it has so many processors from now on."""
    resume = resume_after(f, row, now)
    return max(now, resume) + _ceil(left_at(f, row, now), speed(f, row, procs))


@kernel
def note_end(f: Fluid, row: int) -> None:
    """When the job ends on what it has."""
    job = f.jobs[row]
    since, fast = max(job.since, job.resume), speed(f, row, job.procs)
    job.expected = since + _ceil(job.left, fast)
    job.end = since + _ceil(job.left - job.spare, fast)


@kernel
def note(f: Fluid, row: int, now: int, gave_to: int) -> None:
    """Note what a job has from now on; `gave_to`: for which job others were taken from it, or NONE."""
    machine = f.machine[0]
    f.log[machine.logged, 0] = row
    f.log[machine.logged, 1] = now
    f.log[machine.logged, 2] = f.jobs[row].procs
    f.log[machine.logged, 3] = gave_to
    f.log[machine.logged, 4] = f.jobs[row].resume
    f.log[machine.logged, 5] = f.jobs[row].expected
    machine.logged += 1
    machine.version += 1


@shared_kernel
def count(f: Fluid, row: int, now: int) -> None:
    """Count what a job has done until now."""
    job = f.jobs[row]
    job.left, job.since = left_at(f, row, now), now


@shared_kernel
def renew_end(f: Fluid, row: int) -> None:
    """A running job has told other times: it ends at another instant, on what it has."""
    note_end(f, row)
    f.machine[0].version += 1


@shared_kernel
def resize(f: Fluid, row: int, procs: int, now: int, gave_to: int) -> None:
    """Give a running job another size; see `note`."""
    job = f.jobs[row]
    left, resume = left_at(f, row, now), resume_after(f, row, now)
    f.machine[0].avail += job.procs - procs
    job.procs, job.left, job.since, job.resume = procs, left, now, resume
    note_end(f, row)
    note(f, row, now, gave_to)


@shared_kernel
def begin(f: Fluid, row: int, procs: int, now: int) -> None:
    """Start a queued job."""
    machine, job = f.machine[0], f.jobs[row]
    machine.avail -= procs
    job.procs, job.left, job.since, job.resume, job.start = procs, job.work, now, now, now
    job.state = RUNNING
    if job.slot > 0:
        job.slot = 0
        machine.booked -= 1
    note_end(f, row)
    f.running[machine.running] = row
    machine.running += 1
    note(f, row, now, NONE)


@shared_kernel
def leave(f: Fluid, row: int, state: int) -> None:
    """A running job ends, in this state."""
    machine, job = f.machine[0], f.jobs[row]
    place = 0
    while f.running[place] != row:
        place += 1
    machine.running -= 1
    for i in range(place, machine.running):
        f.running[i] = f.running[i + 1]
    machine.avail += job.procs
    machine.version += 1
    job.state = state
