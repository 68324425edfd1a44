"""Studies a fluid Eureka (fluid.md) beside a batch one, in months like those of Tang et al. (2011), section V-E."""

from cosched_sim.studies.study import study_of

FLUID = study_of(__file__, "cosched_papers.studies.fluid.design:WORK")
