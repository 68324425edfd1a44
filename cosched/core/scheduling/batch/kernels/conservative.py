"""Conservative backfilling: every queued job gets the earliest place that delays no job before it.

The profile is planned afresh in each iteration.
"""

from __future__ import annotations

from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.compiled import kernel
from cosched.core.scheduling.primitives.occupancy import is_free
from cosched.core.scheduling.primitives.profile import earliest, latest_hold, short_from, take
from cosched.core.scheduling.primitives.tables import NEVER, Tables


@kernel
def place_in_plan(tab: Tables, d: int, nodes: int, requested: int, now: int) -> int:
    """The block on which a job can start now by the plan, or NONE: then it was given a later place (if there is any).

    Leaves in `hold_limit` until when the job could hold instead without touching another's place.
    """
    dom = tab.domains[d]
    start = earliest(tab, d, nodes, requested, now)
    block = dom.place_block
    if start == now and is_free(tab, d, nodes, block):
        dom.hold_limit = latest_hold(short_from(tab, d, nodes, block, now), requested)
        return block
    if start < NEVER:
        take(tab, d, nodes, block, start, start + requested)
    return NONE
