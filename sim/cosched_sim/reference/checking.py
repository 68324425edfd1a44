"""Compares the schedules of cosched, and of other simulators, with the right ones of the suite."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

from cosched.words.errors import InputError
from cosched_sim.flags import replay_settings
from cosched_sim.reference.results import NEVER, NUMBERS, JobKey, Results, number, read_results
from cosched_sim.reference.suite import SUITE, Workload, known_mistakes, workloads
from cosched_sim.results.staging import staged

Say = Callable[[str], None]
Row = Mapping[str, str]
NO_ROW: Row = {}
FILES = ("README.md", "mistakes.csv", "workloads")  # the suite's files for users of other simulators


def run_reference(out: Path | None, say: Say) -> bool:
    """Replay all workloads with cosched and compare every column of expected.csv; return whether all are right.

    `say` gets a line for each workload. The suite's files and cosched's results, in the form that `check_results`
    reads, go to `out` (None: nowhere). OSError names `out`.
    """
    suite = workloads()
    with staged(out) if out is not None else nullcontext() as stage:
        if stage is not None:
            _copy_suite(stage)
        right = [_run(workload, stage, say) for workload in suite]
    say(f"{sum(right)} of {len(suite)} workloads are right")
    return all(right)


def check_results(folder: Path, say: Say) -> bool:
    """Compare another simulator's schedules, `folder`/NAME.csv each; return whether all are there and right.

    A file has the columns domain, job_id and start (domain is optional if there is only one). Of the columns end,
    ready, holds, yields and held_node_seconds, those in the file are compared too. `say` gets a line for each
    workload, with the mistakes that would give the same starts, then the missing workloads. InputError for a file that
    cannot be used, or if there is none.
    """
    suite = workloads()
    found = {workload.name: _read(folder, workload) for workload in suite if _file(folder, workload).exists()}
    if not found:
        raise InputError(str(folder), None, f"no results here: a file a workload is expected, as {suite[0].name}.csv")
    there = [workload for workload in suite if workload.name in found]
    wrong = [workload for workload in there if not _check(workload, found[workload.name], say)]
    if wrong:
        for name, what in known_mistakes().items():
            if all(_starts(found[workload.name]) == _predicted(workload, name) for workload in there):
                say(f"all of this is explained if {what} ({name})")
    missing = [workload for workload in suite if workload.name not in found]
    _say_missing(missing, say)
    say(f"{len(there) - len(wrong)} right, {len(wrong)} wrong, {len(missing)} missing of {len(suite)} workloads")
    return not wrong and not missing


def differences(expected: Results, found: Results) -> list[str]:
    """Return one line for each wrong value, in the order of the expected jobs; skip columns missing in `found`."""
    jobs = [*expected, *(job for job in found if job not in expected)]
    return [line for job in jobs for line in _of_job(job, expected.get(job, NO_ROW), found.get(job, NO_ROW))]


def _run(workload: Workload, stage: Path | None, say: Say) -> bool:
    from cosched_sim.replaying import run

    jobs = run(replay_settings((), str(workload.folder / "replay.toml"))).jobs
    table = jobs.select(list(next(iter(workload.expected.values()))))
    if stage is not None:
        table.write_csv(stage / "results" / f"{workload.name}.csv")
    found = {
        (row["domain"], row["job_id"]): {name: "" if value is None else str(value) for name, value in row.items()}
        for row in table.to_dicts()
    }
    return _verdict(workload, differences(workload.expected, found), [], say)


def _copy_suite(stage: Path) -> None:
    (stage / "results").mkdir()
    for name in FILES:
        if (SUITE / name).is_dir():
            shutil.copytree(SUITE / name, stage / name)
        else:
            shutil.copyfile(SUITE / name, stage / name)


def _file(folder: Path, workload: Workload) -> Path:
    return folder / f"{workload.name}.csv"


def _read(folder: Path, workload: Workload) -> Results:
    """Read the columns to compare; a job's state is not among them, as simulators have their own words for it."""
    domains = {domain for domain, _ in workload.expected}
    found = read_results(_file(folder, workload), only_domain=domains.pop() if len(domains) == 1 else None)
    return {job: {name: row[name] for name in NUMBERS if name in row} for job, row in found.items()}


def _check(workload: Workload, found: Results, say: Say) -> bool:
    wrong = differences(workload.expected, found)
    same = [name for name in workload.wrong if _starts(found) == _predicted(workload, name)]
    hints = [f"the same as if {known_mistakes()[name]} ({name})" for name in same]
    return _verdict(workload, wrong, hints or [f"see {workload.name}/README.md"], say)


def _verdict(workload: Workload, wrong: Sequence[str], hints: Sequence[str], say: Say) -> bool:
    if not wrong:
        say(f"{workload.name}: ok")
        return True
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    say(f"{workload.name}: {wrong[0]}{more}")
    for hint in hints:
        say(f"    {hint}")
    return False


def _say_missing(missing: Sequence[Workload], say: Say) -> None:
    for kind, paired in (("one cluster", False), ("two clusters", True)):
        names = [workload.name for workload in missing if workload.paired is paired]
        if names:
            say(f"missing, of {kind}: {', '.join(names)}")


def _of_job(job: JobKey, expected: Row, found: Row) -> list[str]:
    place = " job ".join(job)
    if not expected:
        started = number(found["start"]) != NEVER
        return [f"{place}: start: expected none, the job is to be left out; found {found['start']}"] * started
    if not found:
        starts = number(expected["start"]) != NEVER
        return [f"{place}: start: expected {expected['start']}, found no such job"] * starts
    return [
        f"{place}: {name}: expected {expected[name] or 'none'}, found {found[name] or 'none'}"
        for name in expected
        if name in found and not _equal(name, expected[name], found[name])
    ]


def _equal(name: str, expected: str, found: str) -> bool:
    return number(expected) == number(found) if name in NUMBERS else expected == found


def _starts(results: Results) -> dict[JobKey, object]:
    """Return the start of each job that started."""
    values = {job: number(row["start"]) for job, row in results.items()}
    return {job: value for job, value in values.items() if value != NEVER}


def _predicted(workload: Workload, mistake: str) -> dict[JobKey, object]:
    """Return the starts that a mistake would give."""
    if mistake not in workload.wrong:
        return _starts(workload.expected)
    return _starts({job: {"start": start} for job, start in workload.wrong[mistake].items()})
