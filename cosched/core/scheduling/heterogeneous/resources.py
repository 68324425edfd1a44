"""The machines and the clusters of a site that can be used, and how long jobs are expected to run there."""

from __future__ import annotations

from collections.abc import Sequence, Set

import numpy as np

from cosched.core.scheduling.heterogeneous.calls import CANNOT, Call, Ints
from cosched.core.scheduling.heterogeneous.site import ExpectedTimes, Site
from cosched.core.scheduling.run_times import Origin, Pair, RunTimes


class Resources:
    """Machines come first, then clusters, in the order of the site; `members`: which machines each consists of.

    A machine that is down is part of none. A cluster of which fewer than `min_members` are up runs nothing. If some are
    down its times are longer: by so much as it has fewer members, rounded up.
    """

    def __init__(self, site: Site, times: ExpectedTimes) -> None:
        self.run_times = RunTimes(site.kinds(), {Pair(*pair): seconds for pair, seconds in times.items()})
        self._version = self.run_times.version
        self.names = site.resources
        self.machines = len(site.machines)
        up = [machine for machine in range(self.machines) if machine not in site.down]
        self.members: list[tuple[int, ...]] = [(machine,) if machine in up else () for machine in range(self.machines)]
        self.members += [tuple(member for member in cluster.members if member in up) for cluster in site.clusters]
        self._arrays = [np.array(members, np.int64) for members in self.members]
        # How long a job runs on a resource, as a fraction of what it would on all of it; None: it cannot.
        self._longer: list[tuple[int, int] | None] = [(1, 1) if members else None for members in self.members]
        for row, cluster in enumerate(site.clusters, self.machines):
            there = len(self.members[row])
            self._longer[row] = (len(cluster.members), there) if there >= cluster.min_members else None
        self._clusters = [of for of in range(self.machines, len(self.names)) if self._longer[of] is not None]
        self._times = times
        self._rows: dict[str, Ints] = {}

    def row(self, job_class: str) -> Ints:
        """Return the expected times of a class on all resources."""
        if self.run_times.version != self._version:  # somebody has corrected them
            self._rows.clear()
            self._version = self.run_times.version
        found = self._rows.get(job_class)
        if found is None:
            seconds = [self._expected(job_class, resource) for resource in range(len(self.names))]
            found = self._rows[job_class] = np.array(seconds, np.int64)
        return found

    def _expected(self, job_class: str, resource: int) -> int:
        stated = self._times.get((job_class, self.names[resource]))
        if stated is None or self._longer[resource] is None:
            return CANNOT
        pair = Pair(job_class, self.names[resource])
        return self._lengthened(self.run_times.predict(pair, stated).seconds, resource)

    def stated(self, job_class: str, resource: int) -> int:
        """Return how long jobs of a class run on a resource where they can, as the site states."""
        return self._lengthened(self._times[job_class, self.names[resource]], resource)

    def _lengthened(self, seconds: int, resource: int) -> int:
        """Return how long what takes so long on all members of a resource takes on those that are up."""
        whole, there = self._longer[resource] or (1, 1)
        return -(-seconds * whole // there)

    def learn(self, job_class: str, resource: int, owner: str, queue: str, seconds: int) -> None:
        """A run has completed. Those on a part of a cluster say nothing of all of it."""
        whole, there = self._longer[resource] or (1, 1)
        if whole == there:
            row = self.row(job_class)
            self.run_times.learn(Origin(job_class, self.names[resource], owner, queue), seconds)
            self._version = self.run_times.version
            row[resource] = self._expected(job_class, resource)

    def order(self, last: Set[int]) -> list[int]:
        """Return the resources that can be used, and all machines, in the order in which they are tried.

        Machines come first, then clusters; of either kind, those with one of the machines in `last` are the last.
        """
        resources = [*range(self.machines), *self._clusters]
        return sorted(resources, key=lambda of: (of >= self.machines, not last.isdisjoint(self.members[of])))

    def call(self, classes: Sequence[str], avail: Ints, order: Sequence[int]) -> Call:
        """Return the call for jobs of these classes, with its resources in this order; `avail`: of each machine."""
        number = {name: row for row, name in enumerate(dict.fromkeys(classes))}
        times = np.stack([self.row(name) for name in number])[:, order]
        machines = np.array(order[: self.machines], np.int64)
        place = machines.argsort()
        members = [place[self._arrays[cluster]] for cluster in order[self.machines :]]
        seq, par = times[:, : self.machines], times[:, self.machines :]
        return Call([number[name] for name in classes], seq, par, members, avail[machines])
