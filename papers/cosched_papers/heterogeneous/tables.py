"""A site in tables (Collins and George 2001, figure 1)."""

from __future__ import annotations

from cosched.core.scheduling.site_tables import Row, SiteTables
from cosched_papers.heterogeneous.jobs import Priority
from cosched_papers.heterogeneous.settings import HeterogeneousSettings


def site_tables(settings: HeterogeneousSettings) -> SiteTables:
    """Return the rows of each table, in the order of the site's file."""
    site, machines = settings.site, settings.site.machines
    served = [(cluster, cluster.interconnect) for cluster in site.clusters]
    names = dict.fromkeys(machine.machine_class for machine in machines)
    job_classes = dict.fromkeys(job_class for job_class, _ in settings.times)
    return {
        "policies": [
            ("quantum", str(site.quantum)),
            ("promote_after", str(site.promote_after)),
            ("on_failure", "next" if settings.goes_on else "stop"),
        ],
        "machine_classes": [(name, site.machine_classes.get(name, "")) for name in names],
        "machines": [(of.name, of.machine_class, number not in site.down) for number, of in enumerate(machines)],
        "interconnects": list(dict.fromkeys((of.name, of.bandwidth, of.latency) for _, of in served if of is not None)),
        "clusters": [(of.name, of.min_members, None if link is None else link.name) for of, link in served],
        "cluster_members": [(of.name, machines[member].name) for of in site.clusters for member in of.members],
        "queues": [_queue(settings, queue) for queue in Priority],
        "job_classes": [(name, site.job_classes.get(name, "")) for name in job_classes],
        "file_times": [(*pair, seconds) for pair, seconds in settings.times.items()],
        "access": [(what.value, name, user) for (what, name), users in site.users.items() for user in sorted(users)],
    }


def _queue(settings: HeterogeneousSettings, queue: Priority) -> Row:
    """Return its name, its algorithm, and whether its jobs take the machines of others, or may lose their own."""
    preemptive = settings.site.preemptive
    return (
        queue.name.lower(), settings.algorithm.value, preemptive and queue is Priority.HIGH,
        preemptive and queue is Priority.LOW,
    )  # fmt: skip
