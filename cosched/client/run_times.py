"""How long jobs of a class run on a resource, a machine or a cluster."""

from __future__ import annotations

from cosched.client.fields import duration, if_given, plain, word_if_any, words
from cosched.client.view import View
from cosched.v1 import run_times_pb2

RUN_TIMES_BY = words(run_times_pb2.RunTimesBy, "RUN_TIMES_BY_")
_SOURCES = words(run_times_pb2.RunTimeSource, "RUN_TIME_SOURCE_")


class RunTime(View[run_times_pb2.RunTime]):
    """Completed runs, and what is expected of the next. Preempted and failed runs do not count."""

    job_class = plain(str, "Empty: of all job classes.")
    resource = plain(str, "A machine or a cluster; empty: of all.")
    user = plain(str, "Empty: of all users.")
    queue = plain(str, "Empty: from all queues.")
    runs = plain(int, "How many runs have completed.")
    mean = duration("Rounded to seconds; None: there is no run.")
    standard_deviation = if_given(float, "In seconds; None: fewer than two runs.")
    tenth = duration("A tenth of the runs is not longer; above 128 s it is up to a 64th too low.")
    median = duration("Half of the runs are not longer; above 128 s it is up to a 64th too low.")
    ninetieth = duration("Nine tenths of the runs are not longer; above 128 s it is up to a 64th too low.")
    stated = duration("What was stated; it counts while there are no runs.")
    expected = duration("What is expected of the next run; None: this is a sum of several job classes or resources.")
    source = word_if_any(
        _SOURCES, "From what it is expected: `runs`, `stated`, or `kind`, runs on resources of the same kind."
    )
    spread = if_given(
        float, "The standard deviation of the next run from what is expected, in seconds; None: not known."
    )
