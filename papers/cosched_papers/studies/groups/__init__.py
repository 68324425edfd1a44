"""Studies groups (coscheduling.md): jobs on two to five machines that start together, beside the same jobs in pairs."""

from cosched_sim.studies.study import study_of

GROUPS = study_of(__file__, "cosched_papers.studies.groups.design:WORK")
