"""One iteration: queued jobs are admitted, and what is then free goes to running ones."""

from __future__ import annotations

from cosched.core.job import SlotMoves
from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.compiled import kernel, shared_kernel
from cosched_papers.fluid.kernels.booking import keeps_bookings
from cosched_papers.fluid.kernels.gifts import give
from cosched_papers.fluid.kernels.harvest import carry_out, plan_harvest
from cosched_papers.fluid.kernels.progress import begin
from cosched_papers.fluid.kernels.state import ADMIT, GIVE_FIRST, GIVE_LAST, LEVEL, OVER, QUEUED, RUNNING, Fluid

NEVER_MOVES = int(SlotMoves.NEVER)
WANTED, OTHERS, RELEASED, EVERY = range(4)  # the order of the queue after a release; EVERY: any of these


@kernel
def enqueue(f: Fluid, row: int) -> None:
    """A job is submitted."""
    machine = f.machine[0]
    f.queue[machine.queued] = row
    machine.queued += 1
    f.jobs[row].state = QUEUED


@shared_kernel
def choose(f: Fluid, now: int) -> int:
    """Go on with the iteration up to the next queued job that can be had: its row; NONE: the iteration is over."""
    machine = f.machine[0]
    while machine.step != OVER:
        head = _head(f, now)
        if machine.step == LEVEL:
            below = head != NONE and machine.running + machine.waiting < machine.level
            if below and can_be_had(f, head, now):
                return head
            if below and f.jobs[head].slot > 0:
                f.jobs[head].passed_over = now + 1
                continue
            machine.step = GIVE_FIRST if machine.favor_running else ADMIT
        elif machine.step == ADMIT:
            if head != NONE and machine.avail >= f.jobs[head].least and _keeps_promises(f, head, now):
                return head
            if head != NONE and f.jobs[head].slot > 0:
                f.jobs[head].passed_over = now + 1
                continue
            machine.step = GIVE_LAST
        else:
            give(f, now)
            machine.step = ADMIT if machine.step == GIVE_FIRST else OVER
    return NONE


@kernel
def _head(f: Fluid, now: int) -> int:
    """The first queued job that has not yielded at this instant, and whose slot is not fixed, or NONE."""
    machine = f.machine[0]
    while machine.head < machine.queued and f.jobs[f.queue[machine.head]].state >= RUNNING:
        machine.head += 1
    if machine.released_at != now:
        return _first(f, now, EVERY)
    head = NONE
    for rank in range(EVERY):  # after a release
        if head == NONE:
            head = _first(f, now, rank)
    return head


@kernel
def _first(f: Fluid, now: int, rank: int) -> int:
    machine = f.machine[0]
    for i in range(machine.head, machine.queued):
        row = f.queue[i]
        job = f.jobs[row]
        if job.state != QUEUED or job.passed_over == now + 1 or (job.slot > 0 and job.moves == NEVER_MOVES):
            continue
        if rank == EVERY or _rank(f, row, now) == rank:
            return row
    return NONE


@kernel
def _rank(f: Fluid, row: int, now: int) -> int:
    if f.machine[0].wanted_first == 1 and now < f.jobs[row].wanted_until:
        return WANTED
    return RELEASED if f.jobs[row].released == now else OTHERS


@shared_kernel
def can_be_had(f: Fluid, head: int, now: int) -> bool:
    """Whether the job can have its least, free or by harvest."""
    return (f.machine[0].avail >= f.jobs[head].least or plan_harvest(f, head, now)) and _keeps_promises(f, head, now)


@shared_kernel
def _keeps_promises(f: Fluid, head: int, now: int) -> bool:
    """Whether booked jobs could still be had, and ready ones, which are to get processors by harvest."""
    machine = f.machine[0]
    if not keeps_bookings(f, head, now):
        return False
    if machine.claimed == 0:
        return True
    could_be_had = machine.avail - f.jobs[head].least
    for i in range(machine.running):
        job = f.jobs[f.running[i]]
        could_be_had += job.procs - job.least
    return could_be_had >= machine.claimed


@shared_kernel
def start(f: Fluid, row: int, now: int) -> bool:
    """Start the job that was chosen: on what is free, or else by harvest. False: it cannot be had any more."""
    machine, job = f.machine[0], f.jobs[row]
    if not can_be_had(f, row, now):
        return False
    if machine.avail < job.least:
        carry_out(f, now)
    begin(f, row, min(machine.avail, job.ideal), now)
    return True
