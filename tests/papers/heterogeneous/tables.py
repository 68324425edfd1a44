"""Calls of algorithms, for the product and for the reference."""

from random import Random

import numpy as np

from cosched_papers.heterogeneous.calls import CANNOT, Call, Placement
from tests.reference.heterogeneous import C, M, RefJob, RefSite


def call_of(site: RefSite, jobs: list[RefJob], avail: list[int]) -> Call:
    classes = list(dict.fromkeys(job.job_class for job in jobs))
    seq = [[site.seq.get((of, m), CANNOT) for m in range(site.machines)] for of in classes]
    par = [[site.par.get((of, c), CANNOT) for c in range(len(site.clusters))] for of in classes]
    table = np.array(par, np.int64).reshape(len(classes), len(site.clusters))
    members = [np.array(cluster, np.int64) for cluster in site.clusters]
    rows = [classes.index(job.job_class) for job in jobs]
    return Call(rows, np.array(seq, np.int64), table, members, np.array(avail, np.int64))


def named(site: RefSite, jobs: list[RefJob], placed: list[Placement]) -> list[tuple[RefJob, str, int, int, int]]:
    """As the reference tells placements."""
    return [
        (jobs[job], M if of < site.machines else C, of if of < site.machines else of - site.machines, start, end)
        for job, of, start, end in placed
    ]


def table(*rows: tuple[list[int | None], list[int | None]], clusters: list[list[int]]) -> tuple[RefSite, list[RefJob]]:
    """Jobs of a class each: (seq of each machine, par of each cluster); None: it cannot run there."""
    seq = {(str(j), m): s for j, (times, _) in enumerate(rows) for m, s in enumerate(times) if s is not None}
    par = {(str(j), c): s for j, (_, times) in enumerate(rows) for c, s in enumerate(times) if s is not None}
    return RefSite(len(rows[0][0]), clusters, seq, par), [RefJob(j, 0, str(j)) for j in range(len(rows))]


def random_site(draw: Random, most: int = 5) -> RefSite:
    """A site of a few machines and clusters, which may overlap, and of four job classes."""
    machines, classes = draw.randint(1, most), "abcd"
    clusters = [draw.sample(range(machines), draw.randint(1, machines)) for _ in range(draw.randint(0, 3))]
    clusters = [sorted(cluster) for cluster in clusters]
    longest = draw.choice([4, 12, 60])
    seq = {(of, m): draw.randint(1, longest) for of in classes for m in range(machines) if draw.random() < 0.8}
    for of in classes:
        seq.setdefault((of, draw.randrange(machines)), draw.randint(1, longest))
    par = {
        (of, c): draw.randint(1, max(1, longest // 2))
        for of in classes[: draw.randint(0, 4)]
        for c in range(len(clusters))
        if draw.random() < 0.8
    }
    return RefSite(machines, clusters, seq, par)


def random_call(draw: Random) -> tuple[RefSite, list[RefJob], list[int]]:
    site = random_site(draw)
    jobs = [RefJob(number, 0, draw.choice("abcd")) for number in range(draw.randint(1, 9))]
    return site, jobs, [draw.choice([0, 0, draw.randint(0, 30)]) for _ in range(site.machines)]
