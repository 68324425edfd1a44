"""Policies: the order of a queue, from `wait`, `requested` (in seconds) and `nodes`. The highest value is first."""

# Jobs that have waited for twice their requested time go first, those of equal patience by size.
PATIENT = "min(wait / requested, 2) * 1000000 + nodes"


def in_classes(wait, requested, nodes):
    """Short jobs before long ones, each class in the order of submission; who has waited for a day is in the first."""
    number = 0
    for limit in (900.0, 3600.0, 4 * 3600.0):
        if requested > limit and wait < 86_400.0:
            number += 1
    return wait - number * 1e9
