"""What schedulers are made of, compiled (numba) over plain arrays.

Read in this order: `tables` (what the arrays hold), `occupancy` (nodes taken and given back), `ordering` (who comes
first).
"""
