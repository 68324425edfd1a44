"""Several policy domains on one virtual clock, each led by a player: `conductor` leads all players in lock-step.

The schedule is that of `sim.engine`, which plays all of its domains at once and is faster.
"""
