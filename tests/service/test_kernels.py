"""The kernels are there before anybody needs them, and the compiler's code is not kept for nothing."""

import json
import subprocess
import sys

import pytest

# In a process of its own: here others may have used kernels, and the compiler, before.
PROGRAM = r"""
import json, pkgutil, re, sys
from dataclasses import replace
from decimal import Decimal
from importlib import import_module

from cosched.installation.compilation import use_kernel_cache

use_kernel_cache()
from cosched.core.scheduling import pools, primitives
from cosched.core.scheduling.batch import kernels
from cosched.core.scheduling.scheduler import ClusterSettings
from cosched.core.job import JobState
from cosched.core.scheduling.scheduler import ClusterJob
from cosched.core.effects import Book, Claim, Quote
from cosched.core.scheduling.batch.open_cluster import OpenCluster
from cosched.core.scheduling.policies.backfilling import BACKFILLING
from cosched.core.scheduling.policies.ordering import parse_ordering
from cosched.service.kernels import load_kernels


def loaded():
    found = [(p, module.name) for p in (primitives, kernels) for module in pkgutil.iter_modules(p.__path__)]
    modules = [import_module(f"{package.__name__}.{name}") for package, name in found]
    values = {id(value): value for module in modules for value in vars(module).values()}
    return sorted(str(value) for value in values.values() if getattr(value, "overloads", None))


def compiler_code():
    blocks = re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", open("/proc/self/smaps").read(), flags=re.MULTILINE)
    code = [block for block in blocks if "libllvmlite" in block and " r-xp " in block]
    return sum(int(re.search(r"^Rss: +(\d+) kB", block, re.MULTILINE)[1]) for block in code), len(code)


meets = sys.argv[1] == "meets"
load_kernels(["meeting" if meets else "batch"])
resident, blocks = compiler_code()
before = loaded()

machine = ClusterSettings(16, parse_ordering("wfp"), BACKFILLING["conservative"], pools.Partitions(8, 2))
if meets:
    machine = replace(machine, mate_budget=Decimal("0.5"), slots=True)
cluster = OpenCluster(machine)
for number in range(300):  # more than there is room for at first
    cluster.submit(ClusterJob(str(number), 2, 100, number, paired=number % 2 == 1))
for number in range(6):
    ready = cluster.next(1000)
    answer = (cluster.start, cluster.hold, cluster.pass_over)[number % 3]
    answer(ready.job, 1000, *((), (2000,), (2.0,))[number % 3])
held = [str(n) for n in range(300) if str(n) in cluster and cluster.job(str(n)).state is JobState.HOLDING]
cluster.release(held[0], 1001)
cluster.try_start("299", 1001, 1100)
ready = cluster.next(1002)
cluster.reschedule()
cluster.leave(ready.job, 1002, JobState.CANCELLED)
cluster.leave("298", 1002, JobState.CANCELLED)
cluster.leave("299", 1003, JobState.COMPLETED)
cluster.submit(ClusterJob("found", 2, 100, 1, paired=False, state=JobState.RUNNING, expected=2000, kept={"block": 0}))
if meets:
    for job in ("200", ready.job):
        at = cluster.meeting.quote(Quote(job, 1003), 1003).at if job in cluster else None
        booked = at is not None and cluster.meeting.book(Book(job, at, 1), 1003).allocation is not None
        if booked:
            cluster.meeting.claim(Claim(job), at)
            cluster.meeting.unbook(job, at)
    waiting = cluster.next(1004)
    cluster.reschedule()
    cluster.meeting.quote(Quote(waiting.job, 1004), 1004)
print(json.dumps({"loaded": before, "needed": loaded(), "compiler_kb": resident, "blocks": blocks}))
"""


@pytest.mark.parametrize("kind", ["meets", "does not"])
def test_all_kernels_are_loaded_at_the_start_and_the_compilers_code_is_given_back(kind: str) -> None:
    finished = subprocess.run([sys.executable, "-c", PROGRAM, kind], capture_output=True, text=True, check=True)
    found = json.loads(finished.stdout)
    assert len(found["loaded"]) > 8
    assert found["needed"] == found["loaded"]
    assert found["blocks"] >= 1
    assert found["compiler_kb"] < 5_000
