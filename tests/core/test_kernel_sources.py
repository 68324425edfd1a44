"""What compiled kernels depend on, so that a change of it compiles them again (`cosched.installation.compilation`)."""

import os
import re
import subprocess
import sys
from pathlib import Path

from cosched.core.scheduling import primitives
from cosched.core.scheduling.batch import kernels
from cosched.core.scheduling.fluid import kernels as fluid_kernels
from cosched.core.scheduling.heterogeneous import kernels as placing_kernels

PACKAGES = (primitives, kernels, fluid_kernels, placing_kernels)


def test_kernels_are_made_of_kernels_and_of_job_states_only():
    sources = [source for package in PACKAGES for source in Path(package.__file__).parent.glob("*.py")]
    imported = {name for source in sources for name in re.findall(r"from (cosched\S+) import", source.read_text())}
    ours = tuple(f"{package.__name__}." for package in PACKAGES)
    assert {name for name in imported if not name.startswith(ours)} == {"cosched.core.job"}


def test_kernels_are_never_kept_beside_their_sources():
    """A program that names no folder for them, as `cosched.installation.compilation` does, compiles them anew."""
    code = "from cosched.core.scheduling.primitives import steps; print(type(steps.begin_steps._cache).__name__)"
    without = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    ran = subprocess.run([sys.executable, "-c", code], env=without, capture_output=True, text=True, check=True)
    assert ran.stdout == "NullCache\n"
