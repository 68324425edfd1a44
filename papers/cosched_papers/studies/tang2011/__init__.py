"""Repeats section V of Tang et al., Job Coscheduling on Coupled High-End Computing Systems (2011)."""

import click

from cosched_sim.studies.study import study_of

TANG = study_of(
    __file__,
    "cosched_papers.studies.tang2011.design:WORK",
    options=[
        click.option("--intrepid", metavar="FILE[,KEY=VALUE,...]", help="The log that plays Intrepid."),
        click.option("--eureka", metavar="FILE[,KEY=VALUE,...]", help="The log that plays Eureka."),
    ],
)
