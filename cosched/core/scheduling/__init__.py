"""Cluster schedulers: queue, nodes and time. They know no mates; ready jobs are offered to `coscheduling`."""
