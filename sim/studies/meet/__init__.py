"""Studies meet (meet.md) in the set-up of Tang et al. (2011) and beyond: pairs that start together without holding."""
