"""Repeats the comparison of Dail, Casanova and Berman: A Decoupled Scheduling Approach (2002), section IV."""

from cosched.sim.studies.study import study_of

DAIL = study_of(__file__, "cosched.sim.studies.dail2002.design:WORK")
