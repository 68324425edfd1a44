"""The scheduling iteration and the event loop between decisions, compiled.

Read in this order, after the `primitives`: `easy` and `conservative` (who may pass whom), `iteration` (one scheduling
iteration, real or as a dry run), `answers` (start, hold, yield), `loop` (arrivals, completions and iterations until a
decision needs Python). `meeting` and `slots` are those of a domain that starts pairs without holding.
"""
