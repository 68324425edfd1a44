"""What a run of the command loads, and the memory that writing takes."""

import subprocess
import sys

import pytest

MILLION = """
import resource, sys, time
from cosched.sim import Domain, replay
from cosched.workload.generate import generate
from cosched.sim.results.output import RunInfo, write_run

result = replay([Domain(name="eureka", trace=generate("eureka", jobs=1_000_000, seed=1), nodes=100)])
result.frame("eureka", slice(0, 1)).write_csv()  # so that polars is loaded
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
write_run(result, sys.argv[1], RunInfo("", 0, time.perf_counter()))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def loaded_by(*arguments: str) -> set[str]:
    """The heavy packages that a run of the command loads."""
    code = (
        "import sys\nfrom cosched.cli.main import main\nsys.argv = ['cosched', *sys.argv[1:]]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(*({'numpy', 'numba', 'polars', 'pydantic', 'rich'} & set(sys.modules)), file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return set(run.stderr.split())


def test_help_loads_nothing_heavy():
    """Times are measured by `make bench`; here only what costs time."""
    assert loaded_by("--help") == set()


def test_looking_at_a_trace_needs_no_compiler(traces):
    assert not loaded_by("trace", "info", str(traces / "lublin_256.swf.gz")) & {"numba", "polars"}


@pytest.mark.soak
def test_a_million_jobs_are_written_with_little_memory(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", MILLION, tmp_path / "run"], capture_output=True, text=True, check=True, timeout=600
    )
    kilobytes = int(run.stdout)
    assert kilobytes * 1024 / 1_000_000 < 60
    with open(tmp_path / "run/jobs.csv") as stream:
        assert sum(1 for _ in stream) == 1_000_001
