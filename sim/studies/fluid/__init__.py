"""Studies a fluid Eureka (fluid.md) beside a batch one, in months like those of Tang et al. (2011), section V-E."""
