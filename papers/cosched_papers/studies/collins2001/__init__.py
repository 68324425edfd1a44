"""Repeats the case studies of Collins and George: Parallel and Sequential Job Scheduling (2001), section 5."""

from cosched_sim.studies.study import study_of

COLLINS = study_of(__file__, "cosched_papers.studies.collins2001.design:WORK")
