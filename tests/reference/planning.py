"""Chooses machines as Dail et al. 2002 say, III.B, in the slowest way that is obvious; it shares nothing with cosched.

A machine is a tuple (name, site, speed, cpu, memory) in MHz, 1 and MB. `links` maps two names to (Mb/s, seconds), or
None.
"""

from itertools import chain, combinations, pairwise, permutations

EQUAL = 1e-12


class Strips:
    """N rows of N elements in strips of whole rows, on some machines of a list."""

    def __init__(self, size, machines, links, cycles=40, sent=8, held=9.6):
        self.sites = list(dict.fromkeys(machine[1] for machine in machines))
        self.size, self.links, self.cycles, self.sent, self.held = size, links, cycles, sent, held

    def row(self, machine):
        _, _, speed, cpu, _ = machine
        return self.size * self.cycles / (speed * 1e6 * cpu)

    def most(self, machine):
        return min(self.size, int(machine[4] * 2**20 // (self.held * self.size)))

    def exchange(self, one, other):
        seconds = 0.0
        for link in (self.links(one[0], other[0]), self.links(other[0], one[0])):
            if link is None:
                return None
            bandwidth, latency = link
            seconds += latency + 8 * self.sent * self.size / (bandwidth * 1e6)
        return seconds

    def orders(self, group):
        """All orders of the sites that have the least sum of the exchanges between them."""
        sites = [site for site in self.sites if site in {machine[1] for machine in group}]
        found = []
        for order in permutations(sites):
            parts = [[machine for machine in group if machine[1] == site] for site in order]
            between = [self.exchange(a[-1], b[0]) for a, b in pairwise(parts)]
            if None not in between:
                found.append((sum(between), list(chain.from_iterable(parts))))
        return [machines for seconds, machines in found if seconds <= min(found)[0] * (1 + EQUAL)]

    def schedule(self, group):
        """(time, machines, rows) of the order of sites that takes least, of equal ones of the first, or None."""
        group = [m for m in group if m[3] > 0 and self.most(m) >= 1]
        best = None
        for machines in self.orders(group) if group else ():
            found = self.shared(machines)
            if found is not None and (best is None or found[0] < best[0] * (1 - EQUAL)):
                best = found
        return best

    def shared(self, machines):
        """(time, machines, rows), or None: every row in turn goes to the machine that would end it first."""
        if not len(machines) <= self.size <= sum(map(self.most, machines)):
            return None
        fixed = []
        for place in range(len(machines)):
            near = [machines[n] for n in (place - 1, place + 1) if 0 <= n < len(machines)]
            costs = [self.exchange(machines[place], other) for other in near]
            if None in costs:
                return None
            fixed.append(sum(costs))
        ends = [
            (self.row(machine) * row + fixed[place], place)
            for place, machine in enumerate(machines)
            for row in range(2, self.most(machine) + 1)
        ]
        given = sorted(ends)[: self.size - len(machines)]
        rows = [1 + sum(1 for _, owner in given if owner == place) for place in range(len(machines))]
        time = max(self.row(m) * r + c for m, r, c in zip(machines, rows, fixed, strict=True))
        return time, machines, rows


def metrics(machines):
    """The value of a machine by each metric."""
    most_computation = max(speed * cpu for _, _, speed, cpu, _ in machines) or 1
    most_memory = max(memory for *_, memory in machines) or 1
    return {
        "computation": lambda m: m[2] * m[3],
        "memory": lambda m: m[4],
        "dual": lambda m: 0.5 * m[2] * m[3] / most_computation + 0.5 * m[4] / most_memory,
    }


def candidates(machines):
    """Every candidate of figure 2, in its order: (sites, metric, machines)."""
    sites = list(dict.fromkeys(machine[1] for machine in machines))
    for number in range(1, len(sites) + 1):
        for collection in combinations(sites, number):
            members = [machine for machine in machines if machine[1] in collection]
            for metric, value in metrics(machines).items():
                ranked = sorted(members, key=lambda m, value=value: -value(m))
                for size in range(1, len(ranked) + 1):
                    yield collection, metric, ranked[:size]


def search(machines, application):
    """The best of all candidates: (time, sites, metric, machines, rows), or None."""
    best = None
    for sites, metric, group in candidates(machines):
        found = application.schedule(group)
        if found is not None and (best is None or found[0] < best[0] * (1 - EQUAL)):
            best = (found[0], sites, metric, found[1], found[2])
    return best


def exhaustive(machines, application):
    """The least time of all groups, each ranked by each metric; None if none has a schedule."""
    ranked = [sorted(machines, key=lambda m, value=value: -value(m)) for value in metrics(machines).values()]
    groups = (group for order in ranked for size in range(1, len(order) + 1) for group in combinations(order, size))
    return min((found[0] for group in groups if (found := application.schedule(group)) is not None), default=None)
