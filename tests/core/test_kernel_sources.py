"""What compiled kernels depend on, so that a change of it compiles them again (`cosched.installation.compilation`)."""

import os
import re
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numba import typeof, types

from cosched.core import job
from cosched.core.scheduling import primitives
from cosched.core.scheduling.batch import kernels
from cosched.core.scheduling.primitives.compiled import direct, kernel
from cosched.installation.compilation import _sources
from cosched.schedulers.loading import installed

CORE = (primitives.__name__, kernels.__name__)
KINDS = {type(kind).__module__.rpartition(".")[0] for kind in installed().values()}
OTHERS = (find_spec(f"{package}.kernels") for package in sorted(KINDS))
PACKAGES = (*CORE, *(spec.name for spec in OTHERS if spec and spec.submodule_search_locations))


def sources(package: str) -> list[Path]:
    return sorted(Path(import_module(package).__file__).parent.glob("*.py"))


def test_kernels_are_made_of_kernels_and_of_job_states_only():
    imported = {
        name
        for package in PACKAGES
        for source in sources(package)
        for name in re.findall(r"from (cosched\S+) import", source.read_text())
    }
    ours = tuple(f"{package}." for package in PACKAGES)
    assert {name for name in imported if not name.startswith(ours)} == {"cosched.core.job"}


def test_all_kernels_are_compiled_again_when_one_of_any_installed_kind_has_changed():
    assert {Path(source) for source in _sources()} == {Path(job.__file__)}.union(*map(sources, PACKAGES))


def test_kernels_are_never_kept_beside_their_sources():
    """A program that names no folder for them, as `cosched.installation.compilation` does, compiles them anew."""
    code = "from cosched.core.scheduling.primitives import steps; print(type(steps.begin_steps._cache).__name__)"
    without = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    ran = subprocess.run([sys.executable, "-c", code], env=without, capture_output=True, text=True, check=True)
    assert ran.stdout == "NullCache\n"


@kernel
def put(into, value):
    into[0] = value


def test_the_code_for_a_constant_is_not_taken_for_that_of_all_values():
    """It is there in the process that has compiled the kernels, since another kernel calls this one with a constant."""
    into = np.zeros(1, np.int64)
    put.compile((typeof(into), types.literal(7)))
    direct(put)(into, 5)
    assert into[0] == 5
