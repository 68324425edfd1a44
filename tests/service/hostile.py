"""How much hostile users submit."""

SUBMISSIONS, FEW = 60, 9
MIDDLE = 1024  # nodes
