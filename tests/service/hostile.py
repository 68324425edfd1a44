"""How much hostile users submit."""

SUBMISSIONS, FEW = 24, 5
MIDDLE = 1024  # nodes
