"""The study: what its options say, what it compares, its sections and first sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cosched.words.quantities import count as counted
from cosched_papers.studies.barsanti2006 import setup, tables
from cosched_papers.studies.barsanti2006.claims import beside_traditional, claims, sign_by_limits
from cosched_papers.studies.barsanti2006.comparisons import of, statements
from cosched_papers.studies.barsanti2006.figures import paper_figures
from cosched_papers.studies.barsanti2006.measuring import RESPONSE, SLOWDOWN, WAIT, measures
from cosched_papers.studies.barsanti2006.setup import CIRNE_BERMAN, JOBS, LOGS, SCOJO_P, SMALLEST, TRADITIONAL, W1, W2
from cosched_papers.studies.tang2011.logs import from_zero, read_log, rows_of, write_log
from cosched_sim.reports.page import Section
from cosched_sim.studies.design import Asked, Design, Experiment, Found, comparisons_section
from cosched_sim.studies.measured import less
from cosched_sim.studies.paper import Beside
from cosched_sim.studies.study import Said, Told, seeds, words_of
from cosched_sim.studies.tables import cell

COUNT, QUICK_COUNT = 5, 2
WINDOW, QUICK_WINDOW = 2000, 500
COMPARED = (RESPONSE, WAIT, SLOWDOWN)
WORDS = words_of(__file__)


def describe(said: Said, given: Mapping[str, Any], folder: Path, told: Told) -> Said:
    """Write the windows of the logs; InputError, OSError."""
    further, jobs = given["further"] or said["replications"], setup.QUICK_JOBS if said["quick"] else JOBS
    windows = []
    for number, log in enumerate(given["logs"], 1):
        told.step(f"cutting log {number} ...")
        windows.append(cut_windows(log, number, folder / "logs", told, quick=said["quick"]))
    return {**said, "further": further, "jobs": jobs, "logs": list(map(dict, given["logs"])), "windows": windows}


def replications(said: Said) -> str:
    """Say in sentences what was replicated."""
    count = said["replications"]
    drawn = f"{counted(count, 'workload')} of {said['jobs']:,} jobs for W1 ({seeds(said, count)})"
    rest = f"{said['further']} of all else"
    names = ", ".join(log["name"] for log in said["windows"])
    return f"{drawn}, {rest}. {WORDS['windows'].format(names=names) if names else WORDS['no_logs']}"


def compared(experiment: Experiment) -> Asked:
    """Compare schedulers with the traditional one, and with all jobs on their least sizes."""
    for place in experiment.places if experiment.name in (W1, W2) or experiment.name.startswith(LOGS) else ():
        for rival in (TRADITIONAL, SMALLEST):
            if place[2] not in (TRADITIONAL, rival):
                for measure in COMPARED:
                    yield place, (*place[:2], rival), measure


def values(found: Found) -> Mapping[str, object]:
    """Return what the first sentences tell."""
    names = {"traditional": TRADITIONAL, "cirne_berman": CIRNE_BERMAN, "scojo_p": SCOJO_P, "smallest": SMALLEST}
    means = {name: found.mean(*of(W1, scheduler, RESPONSE)) for name, scheduler in names.items()}
    return {
        **{name: cell(mean) for name, mean in means.items()},
        "than": beside_traditional(found),
        "sign": sign_by_limits(found),
    }


def verdict(found: Found) -> list[str]:
    """Return the paragraphs of the verdict: the line that decides, and how comparisons came out."""
    told = []
    for where in (W1, W2):
        one, least, slow = (
            [found.mean(*of(where, scheduler, measure)) for scheduler in (SCOJO_P, SMALLEST)]
            for measure in (RESPONSE, "long response", SLOWDOWN)
        )
        told.append(
            f"**{where}: every job at N_min** has a mean response of {one[1]} h (long jobs {least[1]}) and a slowdown "
            f"of {slow[1]}; SCOJO-P has {one[0]} h ({least[0]}) and {slow[0]}."
        )
    for log, each in zip(found.said["windows"], tables.of_real_logs(found), strict=True):
        base = (each.name, each.points[0], TRADITIONAL)
        shorter = [(place[2], less(found, (place, RESPONSE), (base, RESPONSE))) for place in each.places]
        listed = ", ".join(f"{name} {value} %" for name, value in shorter if name != TRADITIONAL)
        told.append(f"**{log['name']}**: responses are shorter than under the traditional scheduler by: {listed}.")
    return [*told, f"{found.counted[0].upper()}{found.counted[1:]}.", *[WORDS["site"]] * found.conclusive]


def sections(found: Found) -> Iterator[Section]:
    """Yield the figures, what decides, means, logs and comparisons."""
    four, decides = tables.of_four_seeds(found), tables.what_decides(found)
    yield Section(four.title, WORDS["four"], tables=[four])
    yield Section("Figures 4 to 14", WORDS["figures"], paper_figures(found))
    title = "What does not come out, and why" if found.conclusive else decides.title
    yield Section(title, WORDS["why"] * found.conclusive, tables=[decides])
    logs = tables.of_real_logs(found)
    yield Section("Means", WORDS["means"], tables=list(tables.means_tables(found, [
        each for each in found.experiments if each not in logs
    ])))  # fmt: skip
    yield Section("Real logs", WORDS["logs"] if logs else WORDS["no_logs"], tables=list(tables.of_logs(found)))
    yield comparisons_section(found, "Workload", "Scheduler", "Beside")


WORK = Design(
    words=WORDS, experiments=setup.experiments, measure=measures, measures=tables.SHOWN, compared=compared,
    values=values, verdict=verdict, sections=sections, places="Schedulers", replicated=replications, describe=describe,
    paper=lambda found: Beside.of("5", statements(), claims(), found),
).work  # fmt: skip


def cut_windows(settings: Mapping[str, str], number: int, folder: Path, told: Told, *, quick: bool) -> dict[str, Any]:
    """Write the windows of a log, without common jobs, to the folder; return what there is. InputError, OSError."""
    count, most = (QUICK_COUNT, QUICK_WINDOW) if quick else (COUNT, WINDOW)
    log = read_log("--log", settings, told.say)
    length = min(most, len(log.jobs) // count)
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for window in range(count):
        begin = (len(log.jobs) - length) * window // (count - 1)
        path = (folder / f"log-{number}-{window + 1}.swf.gz").resolve()
        write_log(path, from_zero(rows_of(log.jobs, slice(begin, begin + length))), log.nodes)
        files.append(str(path))
    name = Path(settings["trace"]).name.split(".swf")[0]
    return {"name": name, "nodes": log.nodes, "jobs": length, "files": files}
