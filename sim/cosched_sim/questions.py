"""Questions that a simulation leaves out, since their answers are known and change nothing.

Where thousands of ready jobs yield, each asks its mates again at every change. The answer is no as long as one of them
is not submitted, or is larger than what is free. The job then yields, as it would after having asked; nobody else has
noticed anything. That holds if its domain always yields, so that nobody is wanted because of it, if nobody is
interested in the story, and if no script changes domains or cuts links.

Each question is two calls of the rules, which nothing but leaving it out makes cheap, however the domains are played.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cosched.core.scheduling.batch.kernels import answers
from cosched.core.scheduling.primitives.compiled import direct
from cosched.core.scheduling.primitives.tables import Tables
from cosched.core.scheduling.scheduler import ClusterSettings
from cosched.core.settings import CoschedulingSettings, Scheme
from cosched_sim.workload.jobs import Ints
from cosched_sim.workload.pairing import Pairing


class SkippableQuestions:
    """Which ready jobs need not ask."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self.others: dict[int, tuple[Ints, bool]] = {}  # of jobs that may do without: the others, whether a group
        self._asked: set[int] = set()  # those that have asked once
        self._asks_in_vain = direct(answers.asks_in_vain)

    def leave_out(
        self, domains: Sequence[tuple[ClusterSettings, CoschedulingSettings]], first: Sequence[int], pairing: Pairing
    ) -> None:
        """From now on leave out questions of domains with these settings, whose jobs begin at the rows `first`."""
        may_be_asked = [settings.enabled and not cluster.meets for cluster, settings in domains]
        always_yields = [_always_yields(settings) for _, settings in domains]
        for members in (group.members for group in pairing.rows) if any(always_yields) else ():
            if all(may_be_asked[domain] for domain, _ in members):
                rows = [(domain, first[domain] + job) for domain, job in members]
                for domain, row in rows:
                    if always_yields[domain]:
                        others = np.array([other for other in rows if other[1] != row], np.int64)
                        self.others[row] = others, len(rows) > 2

    def in_vain(self, row: int) -> bool:
        """Return whether this ready job, which may do without, would ask in vain, as it has done before."""
        if row not in self._asked:
            self._asked.add(row)
            return False
        return bool(self._asks_in_vain(self._tables, *self.others[row]))


def _always_yields(settings: CoschedulingSettings) -> bool:
    fixed = not settings.max_yields and not settings.yield_boost and settings.mate_patience is None
    return settings.scheme is Scheme.YIELD and fixed
