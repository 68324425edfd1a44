"""The reference suite: small workloads whose schedules are known to be right, for this and for other simulators."""
