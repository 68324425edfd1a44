"""The machines and the clusters of a site that can be used, and how long jobs are expected to run there."""

from __future__ import annotations

from collections.abc import Sequence, Set

import numpy as np

from cosched.core.scheduling.run_times import Origin, Pair, RunTimes
from cosched_papers.heterogeneous.calls import CANNOT, Call, Ints
from cosched_papers.heterogeneous.jobs import Priority
from cosched_papers.heterogeneous.site import ExpectedTimes, Restricted, Site


class Resources:
    """Machines come first, then clusters, in the order of the site; `members`: which machines each consists of.

    A machine that is down is part of none. A cluster with fewer than `min_members` up runs nothing. If some are
    down its times are longer: by so much as it has fewer members, rounded up.
    """

    def __init__(self, site: Site, times: ExpectedTimes) -> None:
        self.run_times = RunTimes(site.kinds(), {Pair(*pair): seconds for pair, seconds in times.items()})
        self._version = self.run_times.version
        self.names = site.resources
        self.index = {name: of for of, name in enumerate(self.names)}
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
        self._times, self._site = times, site
        self._closed: dict[str, frozenset[int]] = {}  # by owner, the resources that they may not use
        self._classes = frozenset(job_class for job_class, _ in times)
        self._rows: dict[str, Ints] = {}  # of these
        self._nowhere = np.full(len(self.names), CANNOT, np.int64)  # of all others, which jobs may name at will

    def row(self, job_class: str) -> Ints:
        """Return the expected times of a class on all resources."""
        if job_class not in self._classes:
            return self._nowhere
        if self.run_times.version != self._version:  # somebody has corrected them
            self._rows.clear()
            self._version = self.run_times.version
        found = self._rows.get(job_class)
        if found is None:
            seconds = [self._expected(job_class, resource) for resource in range(len(self.names))]
            found = self._rows[job_class] = np.array(seconds, np.int64)
        return found

    def row_for(self, job_class: str, owner: str) -> Ints:
        """Return the expected times of a class on the resources that the owner may use."""
        row, closed = self.row(job_class), self._closed_to(owner)
        if closed:
            row = row.copy()
            row[list(closed)] = CANNOT
        return row

    def _closed_to(self, owner: str) -> frozenset[int]:
        if not self._site.users:
            return frozenset()
        if owner not in self._closed:
            self._closed[owner] = self._site.closed_to(owner)
        return self._closed[owner]

    def check(self, job_class: str, queue: Priority, owner: str) -> None:
        """ValueError: a job of this class and owner can, or may, not run here."""
        for what, name in (Restricted.QUEUE, queue.name.lower()), (Restricted.JOB_CLASS, job_class):
            if not self._site.may_use(owner, what, name):
                raise ValueError(f"{owner} may not use the {what.value} {name}: the site's file says who may")
        row, may = self.row(job_class)[: self.machines], self.row_for(job_class, owner)[: self.machines]
        if row.min() >= CANNOT:
            where = "on clusters only" if self.row(job_class).min() < CANNOT else "nowhere"
            raise ValueError(f"by its expected times a job of the class {job_class} can run {where}")
        if may.min() >= CANNOT:
            able = ", ".join(name for name, seconds in zip(self.names, row, strict=False) if seconds < CANNOT)
            said = f"{owner} may use no machine on which a job of the class {job_class} can run ({able})"
            raise ValueError(f"{said}: the site's file says who may")

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
        """Note that a run has completed. Those on a part of a cluster say nothing of all of it."""
        whole, there = self._longer[resource] or (1, 1)
        if whole == there:
            row = self.row(job_class)
            origin = Origin(job_class, self.names[resource], owner, queue)
            self.run_times.learn(origin, seconds)
            self._version = self.run_times.version
            for alike in self.run_times.alike(origin.pair):
                of = self.index[alike.resource]
                row[of] = self._expected(job_class, of)

    def order(self, last: Set[int]) -> list[int]:
        """Return the resources that can be used, and all machines, in the order in which they are tried.

        Machines come first, then clusters; of either kind, those with one of the machines in `last` are the last.
        """
        resources = [*range(self.machines), *self._clusters]
        return sorted(resources, key=lambda of: (of >= self.machines, not last.isdisjoint(self.members[of])))

    def call(self, jobs: Sequence[tuple[str, str]], avail: Ints, order: Sequence[int]) -> Call:
        """Return the call for jobs of these classes and owners, with its resources in this order; `avail`: of machines.

        Jobs of a class whose owners may use the same resources are alike.
        """
        alike = [(job_class, self._closed_to(owner)) for job_class, owner in jobs]
        whose = dict(zip(reversed(alike), reversed(jobs), strict=True))
        number = {kind: row for row, kind in enumerate(dict.fromkeys(alike))}
        times = np.stack([self.row_for(*whose[kind]) for kind in number])[:, order]
        machines = np.array(order[: self.machines], np.int64)
        place = machines.argsort()
        members = [place[self._arrays[cluster]] for cluster in order[self.machines :]]
        seq, par = times[:, : self.machines], times[:, self.machines :]
        return Call([number[kind] for kind in alike], seq, par, members, avail[machines])
