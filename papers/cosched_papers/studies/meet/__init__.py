"""Studies meet (meet.md) in the set-up of Tang et al. (2011) and beyond: pairs that start together without holding."""

import click

from cosched_sim.studies.study import study_of

MEET = study_of(
    __file__,
    "cosched_papers.studies.meet.design:WORK",
    options=[
        click.option("--further", type=click.IntRange(1, 1000), metavar="N", help="Those of all but V-D (as many)."),
        click.option("--logs", nargs=2, multiple=True, metavar="BIG SMALL", help="Two logs, FILE[,KEY=VALUE,...]."),
    ],
)
