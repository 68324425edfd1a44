"""The rules of molding.md, compiled: sizes, figures 2 and 3, an iteration, Cirne-Berman's choice, a whole trace."""
