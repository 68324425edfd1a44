"""Coscheduling (Tang et al., 2011): which jobs with mates start, hold or yield. It knows no scheduler."""
