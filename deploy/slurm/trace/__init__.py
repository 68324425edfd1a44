"""A cut of Intrepid's and Eureka's traces through two real Slurm clusters: see README.md beside this file."""
