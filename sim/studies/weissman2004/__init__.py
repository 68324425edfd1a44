"""Repeats the simulations of Weissman, Abburi, England: Integrated Scheduling (2004), section 4.4."""
