"""Ways to run the command, and small job logs to give it."""

import gzip
import math
import re
import subprocess
import sys
from pathlib import Path

import pytest

CONSOLE_SCRIPT = Path(sys.executable).with_name("cosched")
PROGRESS = re.compile(
    r"^(?:reading|generating|replaying|writing|drawing|choosing|asking)\b.*(?: \.\.\.| %)\n", re.MULTILINE
)
SWF = "{id} {submit} -1 {run} {procs} -1 -1 {procs} {requested} -1 1 1 -1 -1 -1 -1 -1 -1\n"


@pytest.fixture(autouse=True)
def silence(monkeypatch):
    """No command in this process takes so long that it says what it does."""
    monkeypatch.setattr("cosched.cli.output.terminal.SILENCE_S", math.inf)


def without_progress(said):
    """What a process of its own has said, without the lines by which it says each minute what it does."""
    return PROGRESS.sub("", said)


@pytest.fixture
def refused(cosched):
    """The one line that an unusable command line says on standard error, without the program's name."""

    def run(*args, exit_code=2, **options):
        result = cosched(*args, exit_code=exit_code, **options)
        assert result.stdout == ""
        assert result.stderr.startswith("cosched: ")
        assert result.stderr.count("\n") == 1
        return result.stderr.removeprefix("cosched: ").rstrip("\n")

    return run


@pytest.fixture
def console(tmp_path):
    """Run the installed console script in a process of its own, in the test's folder."""

    def run(*args, **options):
        options = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 600, **options}
        ran = subprocess.run([CONSOLE_SCRIPT, *map(str, args)], check=False, **options)
        ran.stderr = without_progress(ran.stderr) if isinstance(ran.stderr, str) else ran.stderr
        return ran

    return run


def swf(*jobs, nodes=10):
    """An SWF file; a job is (id, submit, run, procs) and perhaps its requested time."""
    keys = ("id", "submit", "run", "procs", "requested")
    return f"; MaxProcs: {nodes}\n" + "".join(
        SWF.format(**dict(zip(keys, (*job, job[2])[:5], strict=True))) for job in jobs
    )


def hourly(count, first=0, run=3000, procs=8):
    """`count` jobs, one an hour."""
    return [(number, first + 3600 * number, run, procs) for number in range(1, count + 1)]


@pytest.fixture
def logs(tmp_path):
    """Two small coupled machines: a.swf and b.swf.gz, eight jobs each, b's a minute later; some must wait."""
    (tmp_path / "a.swf").write_text(swf(*hourly(8), (9, 8000, 9000, 6)))
    (tmp_path / "b.swf.gz").write_bytes(gzip.compress(swf(*hourly(8, first=60, run=4000, procs=6)).encode()))
    return "--domain", "a,trace=a.swf", "--domain", "b,trace=b.swf.gz"


def tree(folder):
    """Names of all files under a folder."""
    return sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*") if path.is_file())
