"""A model of the SP2 at SDSC, 128 nodes: fitted to the first 4,961 jobs of its log in the Parallel Workloads Archive.

That log begins on Friday, 24 April 1998. Of these jobs 4,606 ran. The archive has it by courtesy of Victor Hazlewood
and SDSC. The values are what `fitted.fit` finds; `tests/sim/test_fitted.py` compares them where the log is at hand.
"""

from cosched_sim.workload.fitted import FittedModel

SDSC = FittedModel(
    name="SDSC-SP2-1998",
    nodes=128,
    begin=32_728,
    gaps=(
        3445, 3747, 3460, 1780, 1330, 1151, 875.5, 603, 690.6, 610.1, 621.8, 422.2,
        634.2, 482.5, 492.9, 671.2, 1190, 1745, 1627, 3446, 1737, 1972, 2479, 2967,
    ),
    mean_gap=1006,
    shape=0.4082,
    scale=2503,
    sizes=(
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 32, 35,
        36, 38, 39, 40, 42, 43, 48, 49, 50, 56, 60, 63, 64, 65, 67, 81, 83, 96, 100,
    ),
    counts=(
        921, 557, 46, 813, 81, 28, 34, 648, 25, 16, 66, 51, 36, 1, 61, 315, 14, 76, 2, 1, 1, 7, 28, 25, 7, 9, 8, 2, 294,
        58, 15, 4, 1, 4, 1, 42, 19, 13, 4, 1, 1, 50, 168, 3, 7, 17, 1, 1, 23,
    ),
)  # fmt: skip
