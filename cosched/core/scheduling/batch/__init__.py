"""The batch scheduler: a queue in the order of a policy, with backfilling.

`cluster` runs over tables in which all jobs are known, of all domains of a simulation; `open_cluster` serves one live
domain, whose jobs come one by one. `meeting_cluster` starts pairs without holding.
"""
