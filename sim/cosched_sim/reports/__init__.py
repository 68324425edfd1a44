"""Reports: the results of a replay, a sweep or a study as one HTML page with figures."""
