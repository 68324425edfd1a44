"""What a live domain's scheduler has compiled is loaded before it serves: a kernel takes up to half a second."""

from __future__ import annotations

import subprocess
import sys

from tests.installed import PAPERS

PROGRAM = """
import sys
from numba.core.dispatcher import Dispatcher
from cosched.conformance.schedulers.waiting import Waiting
from cosched.schedulers.kernels import all_sets
from tests.conformance.schedulers.kinds import SUBJECTS

def loaded():
    modules = [module for name, module in list(sys.modules.items()) if name.startswith(("cosched.", "cosched_"))]
    kernels = {id(kernel): kernel for module in modules for kernel in vars(module).values()
               if isinstance(kernel, Dispatcher)}
    return {(kernel.__module__, kernel.__name__, types) for kernel in kernels.values() for types in kernel.overloads}

for name, use in all_sets().items():
    if not name.endswith("-traces"):
        use()
before = loaded()
assert before
for name in sys.argv[1:]:
    history = Waiting(SUBJECTS[name], 1)
    for _ in range(40):
        history.step()
print(*sorted(f"{module}.{kernel}" for module, kernel, _ in loaded() - before))
"""
OF_PAPERS = ("molding-cirne_berman", "molding-learns", "fluid-even-slots", "heterogeneous-slots-preemptive")
CHOSEN = ("batch-easy-part", "batch-conservative-flat-meets-0.5-0.4", *(OF_PAPERS if PAPERS else ()))


def test_a_scheduler_loads_no_kernel_while_it_serves() -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM, *CHOSEN], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout.split()) == (0, []), run.stderr
