"""What a run of the command costs: time with warm caches, memory of writing."""

import subprocess
import sys
import time

from tests.cli.conftest import CONSOLE_SCRIPT

MILLION = """
import resource, sys, time
from sim import Domain, replay
from sim.generate import generate
from sim.output import RunInfo, write_run

result = replay([Domain(name="eureka", trace=generate("eureka", jobs=1_000_000, seed=1), nodes=100)])
result.frame("eureka", slice(0, 1)).write_csv()  # so that polars is loaded
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
write_run(result, sys.argv[1], RunInfo("", 0, time.perf_counter()))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def best_of_three(*command):
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        subprocess.run([CONSOLE_SCRIPT, *command], check=True, capture_output=True)
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def test_help_is_there_at_once():
    assert best_of_three("--help") < 0.2


def test_ten_thousand_jobs(traces, tmp_path):
    domain = f"x,trace={traces}/lublin_256.swf.gz"
    assert best_of_three("replay", "--domain", domain, "--out", tmp_path / "run") < 1.5


def test_a_million_jobs_are_written_with_little_memory(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", MILLION, tmp_path / "run"], capture_output=True, text=True, check=True, timeout=120
    )
    kilobytes = int(run.stdout)
    assert kilobytes * 1024 / 1_000_000 < 60
    with open(tmp_path / "run/jobs.csv") as stream:
        assert sum(1 for _ in stream) == 1_000_001
