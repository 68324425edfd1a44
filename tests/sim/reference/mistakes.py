"""Common wrong definitions in the slow simulator: what mistakes.csv of each workload says comes of them.

`python -m tests.sim.reference.mistakes` writes those files again.
"""

import csv
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from cosched_sim.reference.suite import workloads
from tests.reference import RefDomain, blocks, coschedule, flat, iteration, order, state, world
from tests.reference.planned import PlannedIteration

from . import slowly
from . import wrong_coscheduling as cosched
from . import wrong_scheduling as wrong
from .slowly import Schedule

Row = tuple[str, str, str, str]  # mistake, domain, job id, start (empty: never)


@dataclass
class Mistake:
    """Code of the slow simulator replaced by other code, made again for each run, and its domains changed."""

    patches: Callable[[], tuple[tuple[object, str, object], ...]] = tuple
    change: Callable[[RefDomain], object] = lambda _: None

    def schedule(self, folder: Path) -> Schedule:
        with ExitStack() as stack:
            for target, name, instead in self.patches():
                stack.enter_context(patch.object(target, name, instead))
            case = slowly.read_case(folder)
            for domain in case.domains:
                self.change(domain)
            return slowly.schedule(case)


def setting(**values: object) -> Mistake:
    """Settings other than the workload's."""
    return Mistake(change=lambda domain: [setattr(domain, name, value) for name, value in values.items()])


def replaced(target: object, name: str, instead: object) -> Mistake:
    return Mistake(lambda: ((target, name, instead),))


def iterating(make: Callable[[], object]) -> Mistake:
    """Another scheduling iteration, real and dry runs."""
    return Mistake(lambda: tuple((module, "iterate", made) for made in (make(),) for module in (world, coschedule)))


def holds_until(*, endless: bool) -> Mistake:
    wrong_end = cosched.HoldsUntil(endless=endless)
    return Mistake(
        lambda: (
            (state.DomainState, "pool", lambda domain: wrong_end.pool(domain)),
            (coschedule, "run_job", wrong_end.run_job),
        )
    )


def rule_5(may_hold: object, in_plan: object = None) -> Mistake:
    beside_plan = in_plan or may_hold
    return Mistake(
        lambda: ((iteration, "holds_before_shadow", may_hold), (iteration, "holds_beside_plan", beside_plan))
    )


MISTAKES = {
    "ties-by-id": replaced(state.DomainState, "_entries", wrong.entries_by_id),
    "file-order": replaced(state.DomainState, "_entries", wrong.entries_in_file_order),
    "event-by-event": replaced(world, "World", wrong.EventByEvent),
    "policy-ignored": setting(policy="fcfs"),
    "wfp-linear": replaced(order, "POLICIES", wrong.with_wfp(wrong.linear_wfp)),
    "wfp-exact": replaced(order, "POLICIES", wrong.with_wfp(wrong.exact_wfp)),
    "first-fit": iterating(lambda: wrong.first_fit),
    "backfill-none": setting(backfill="none"),
    "backfill-easy": setting(backfill="easy"),
    "backfill-conservative": setting(backfill="conservative"),
    "actual-run-times": Mistake(change=wrong.actual_times),
    "strict-shadow": Mistake(
        lambda: ((flat, "Reservation", wrong.StrictReservation), (blocks, "Reservation", wrong.StrictBlock))
    ),
    "no-extra": replaced(flat, "Reservation", wrong.NoExtra),
    "extra-not-used-up": replaced(flat, "Reservation", wrong.EndlessExtra),
    "extra-used-by-all": Mistake(
        lambda: ((flat, "Reservation", wrong.ExtraUsedByAll), (world, "World", wrong.OneIteration))
    ),
    "extra-partial": replaced(flat.Pool, "reserve", wrong.reserve_with_the_first_that_suffice),
    "shadow-kept": iterating(wrong.KeptShadow),
    "reservation-sticks": iterating(wrong.StickyReservation),
    "plan-kept": replaced(world, "World", wrong.KeptPlan),
    "overrun-killed": replaced(slowly, "times", wrong.times_killed),
    "overrun-extended": replaced(slowly, "times", wrong.times_extended),
    "overrun-unforeseen": Mistake(
        lambda: (
            (slowly, "times", wrong.times_as_stated),
            (state.DomainState, "_entries", wrong.entries_past_their_requests),
        )
    ),
    "failed-left-out": replaced(slowly, "clean", wrong.clean_without_failed),
    "processors-as-nodes": replaced(slowly, "read_domain", wrong.read_domain_in_processors),
    "partitions-ignored": setting(layout=None),
    "partitions-rounded-only": Mistake(change=wrong.rounded_only),
    "blocks-unaligned": replaced(blocks, "all_blocks", wrong.unaligned_blocks),
    "highest-block": replaced(blocks.Pool, "fit", wrong.highest_block),
    "reserved-block-spoiled": replaced(blocks, "Reservation", wrong.SpoiledBlock),
    "mates-ignored": setting(scheme="off"),
    "off-ignored": Mistake(change=cosched.instead_of("off", "hold")),
    "scheme-hold": Mistake(change=cosched.instead_of("yield", "hold")),
    "scheme-yield": Mistake(change=cosched.instead_of("hold", "yield")),
    "timer-off": setting(release_interval=0),
    "jitter-off": setting(release_jitter="0"),
    "released-in-place": replaced(order, "rank_after_release", cosched.released_in_place),
    "wanted-not-first": setting(release_order="last"),
    "cap-off": setting(max_held_fraction="1"),
    "cap-strict": Mistake(change=cosched.strict_cap),
    "cap-in-floats": Mistake(change=cosched.cap_in_floats),
    "hold-endless": holds_until(endless=True),
    "hold-with-run": holds_until(endless=False),
    "no-shadow-blocks": replaced(flat, "Reservation", wrong.NothingWithoutShadow),
    "backfilled-always-hold": rule_5(cosched.always),
    "backfilled-never-hold": rule_5(cosched.never),
    "backfilled-hold-by-release": rule_5(cosched.by_release_alone, iteration.holds_beside_plan),
    "yield-blocks": replaced(world, "iterate", cosched.yield_blocks),
    "yield-limit-off": setting(max_yields=0),
    "yield-boost-off": setting(yield_boost="0"),
    "try-never": replaced(coschedule, "place_in_dry_run", cosched.never_in_dry_run),
    "try-if-free": replaced(coschedule, "place_in_dry_run", cosched.wherever_free),
    "try-if-first": replaced(coschedule, "place_in_dry_run", cosched.first_of_queue),
    "try-behind-paired": replaced(coschedule, "place_in_dry_run", cosched.behind_paired_jobs),
    "left-out-awaited": replaced(slowly, "clean", wrong.clean_with_large_jobs_to_come),
    "meet-no-budget": setting(mate_budget="0"),
    "meet-no-slots": setting(slots=False),
    "guard-off": replaced(PlannedIteration, "limit", cosched.no_guard),
    "guard-strict": replaced(PlannedIteration, "limit", cosched.strict_guard),
    "slot-only-when-due": replaced(PlannedIteration, "turn", cosched.never_early),
}


def rows_of(folder: Path) -> list[Row]:
    """The starts under every mistake that changes one, mistakes in the order above."""
    right = starts(slowly.schedule(slowly.read_case(folder)))
    rows: list[Row] = []
    for name, mistake in MISTAKES.items():
        found = starts(mistake.schedule(folder))
        found = {job: start for job, start in found.items() if start or job in right}  # a job left out may not start
        if found != right:
            rows += [(name, *job, start) for job, start in found.items()]
    return rows


def starts(schedule: Schedule) -> dict[tuple[str, str], str]:
    return {
        (domain, str(job_id)): "" if outcome.start is None else str(outcome.start)
        for (domain, job_id), outcome in schedule.items()
    }


def write(folder: Path) -> None:
    with (folder / "mistakes.csv").open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(("mistake", "domain", "job_id", "start"))
        writer.writerows(rows_of(folder))


if __name__ == "__main__":
    for workload in workloads():
        write(workload.folder)
