"""What schedulers are made of, compiled (numba) over plain arrays.

Read in this order: `tables` (what the arrays hold), `occupancy` (nodes taken and given back), `profile` (who has a
place later), `ordering` (who comes first).
"""
