"""Tests of what schedulers and batch systems promise, for packages of their own: a plugin of pytest.

`pytest --cosched-scheduler NAME` tests a scheduler, `pytest --cosched-adapter NAME` a batch system. See CONTRIBUTING.
"""
