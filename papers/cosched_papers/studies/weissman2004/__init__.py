"""Repeats the simulations of Weissman, Abburi, England: Integrated Scheduling (2004), section 4.4."""

import click

from cosched_sim.studies.study import study_of

LOG = click.option("--log", multiple=True, metavar="FILE", help="A job log to fit, too; can be repeated.")
WEISSMAN = study_of(__file__, "cosched_papers.studies.weissman2004.design:WORK", [LOG])
