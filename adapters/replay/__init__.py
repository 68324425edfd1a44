"""The replay manager: a machine on which the jobs of a trace run, as long as they ran, without doing anything.

Its jobs come from the trace, not from users. Its time is that of the whole service (`time`): the wall clock's, perhaps
faster, or an instant that a conductor tells, for domains that are replayed in lock-step.
"""
