"""Repeats the comparison of Dail, Casanova and Berman: A Decoupled Scheduling Approach (2002), section IV."""

import click

from cosched_sim.studies.study import study_of

REAL = click.option("--real", is_flag=True, help="Run maps as processes in network namespaces, too (Linux, root).")
DAIL = study_of(__file__, "cosched_papers.studies.dail2002.design:WORK", [REAL])
