"""The study of Weissman et al. (2004)."""
