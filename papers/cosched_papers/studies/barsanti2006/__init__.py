"""Repeats the simulations of Barsanti and Sodan: Adaptive Job Scheduling Via Predictive Job Resource Allocation (2006).

Section 5: SCOJO-P beside a traditional scheduler and that of Cirne and Berman.
"""

import click

from cosched_sim.studies.study import study_of

LOG = click.option(
    "--log", "logs", multiple=True, metavar="FILE[,KEY=VALUE,...]", help="A job log to mold, too; can be repeated."
)
FURTHER = click.option("--further", type=click.IntRange(1, 1000), metavar="N", help="Those of all but W1 (as many).")
BARSANTI = study_of(__file__, "cosched_papers.studies.barsanti2006.design:WORK", [FURTHER, LOG])
