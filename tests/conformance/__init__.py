"""What every `BatchSystem` promises: one set of tests, for each batch system that we have. A new adapter starts here.

To add one: a `World` (see worlds.py), and its name in the fixture of conftest.py.
"""
