"""What compiled kernels depend on, so that a change of it compiles them again (`cosched.compilation`)."""

import re
from pathlib import Path

from cosched.core.scheduling import primitives
from cosched.core.scheduling.batch import kernels
from cosched.core.scheduling.fluid import kernels as fluid_kernels

PACKAGES = (primitives, kernels, fluid_kernels)


def test_kernels_are_made_of_kernels_and_of_job_states_only():
    sources = [source for package in PACKAGES for source in Path(package.__file__).parent.glob("*.py")]
    imported = {name for source in sources for name in re.findall(r"from (cosched\S+) import", source.read_text())}
    ours = tuple(f"{package.__name__}." for package in PACKAGES)
    assert {name for name in imported if not name.startswith(ours)} == {"cosched.core.job"}
