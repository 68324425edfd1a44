"""A policy: the order of a queue, as an expression of `wait`, `requested` and `nodes`. The highest value is first."""

# Jobs that have waited for twice their requested time go first, those of equal patience by size.
PATIENT = "min(wait / requested, 2) * 1000000 + nodes"
