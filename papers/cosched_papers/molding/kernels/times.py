"""Times that are compiled into kernels, in seconds: the limits of the classes of jobs, and the half hours of a day."""

SHORT, MEDIUM = 60, 3600  # a job is short if it runs for less than this on its N_opt; medium
HALF_HOUR, HALF_HOURS = 1800, 48  # the seconds of one; how many a day has
DAY = HALF_HOUR * HALF_HOURS
