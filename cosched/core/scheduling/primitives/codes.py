"""What kernels know by number: policies, and the operations of an expression.

Needs neither numpy nor numba: a domain whose resource manager schedules reads settings, but compiles no kernel.
"""

from __future__ import annotations

NONE = -1

FCFS, WFP, SHORTEST, LARGEST, EXPRESSION = range(5)
EASY, CONSERVATIVE, NO_BACKFILL = range(3)

# Operations of a policy expression; a program is a row of them, ended by STOP, with a row of constants beside it.
STOP, CONSTANT, WAIT, REQUESTED, NODES, NEGATE, ADD, SUBTRACT, MULTIPLY, DIVIDE, POWER, MINIMUM, MAXIMUM = range(13)
SQUARE_ROOT, LOGARITHM, EXPONENTIAL, ABSOLUTE = range(13, 17)
CALL = 17  # a function of wait, requested and nodes, whose address is the constant
MAX_PROGRAM = 64  # operations, with STOP
