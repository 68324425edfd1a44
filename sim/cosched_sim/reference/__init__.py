"""The reference suite: small workloads with schedules known to be right, for this and other simulators."""
