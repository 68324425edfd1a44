"""The scheduling iteration and the event loop between decisions, compiled (numba) over plain arrays.

Read in this order: `tables` (what the arrays hold), `occupancy` (nodes taken and given back), `ordering` (who comes
first), `easy` and `conservative` (who may pass whom), `iteration` (one scheduling iteration, real or as a dry run),
`answers` (start, hold, yield), `loop` (arrivals, completions and iterations until a decision needs Python).
"""
