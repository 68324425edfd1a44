"""The replay manager: a machine on which the jobs of a trace run for as long as in the trace, without doing anything.

Its jobs come from the trace, not from users. The whole service uses its time (`time`): the wall clock's, perhaps
faster, or an instant that a conductor sets, for domains that are replayed in lock-step.
"""
